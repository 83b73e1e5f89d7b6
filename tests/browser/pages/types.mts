// What programs write by the types of packaging/npm; compiled alone, by tsc.
import Kiln, {KilnError, type Model, type Tensor, type Tensors} from '../../../packaging/npm/index.js';
const kiln: Kiln = await Kiln.start({worker: false, threads: false, device: 'cpu'});
const model = await Kiln.load('resnet18.onnx', {onProgress: ({loaded, total}) => console.log(loaded / (total ?? 1))});
const {logits} = await model.run({image: new Float32Array(4)});
const scores: Float32Array = await logits.data();
logits.dispose();
const named = await (model satisfies Model).run<{logits: Tensor}>([new Float32Array(4)]);
const {digit}: {digit: Int32Array} = await model.run<{digit: Int32Array}>({}, {arrays: true}), array: Float32Array = (await model.run([], {arrays: true})).logits;
const shape: readonly number[] = named.logits.shape;
{ using t = await kiln.tensor([1, 2], [2]); const one: number | bigint = await t.item(); console.log(one); }
try { await kiln.functions.train(1, () => false); } catch (error) { if (error instanceof KilnError && error.kind === 'ShapeError') console.log(error.message); }
const {tensors, metadata} = await kiln.load<Tensors>(new Uint8Array(8), {name: 'x', signal: new AbortController().signal});
console.log((await tensors.weight.data<Int32Array>())[0], metadata.by);
// @ts-expect-error a shape is numbers
await kiln.tensor([1], ['a']);
// @ts-expect-error no such option
await Kiln.start({wroker: true});
console.log(scores, shape, digit, array);
