// The npm package in Node, on the module of WebAssembly: models, tensors, errors, memory.
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {execFileSync} from 'node:child_process';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {after} from 'node:test';
import assert from 'node:assert/strict';

const {KILN_MODULES: modules, KILN_SOURCE: source, KILN_MAKE_FILES: maker} = process.env;
if (!existsSync(join(modules, 'kiln.wasm'))) {
  console.log(`SKIPPED: ${modules}/kiln.wasm is not built: ./dev build wasm makes it, with Emscripten`);
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), 'kiln-package-'));
execFileSync(maker, [folder]);
after(() => rmSync(folder, {recursive: true}));
const bytes = name => new Uint8Array(readFileSync(join(folder, name)));
const floats = name => new Float32Array(bytes(name).buffer);

const {Kiln, KilnError, Tensor} = await import(join(source, 'packaging/npm/index.js'));
const start = (name = 'kiln') => Kiln.start({module: 'file://' + join(modules, `${name}.js`), worker: false});
const kiln = await start();
const isError = (kind, words) => error => {
  assert.ok(error instanceof KilnError && error instanceof Error, String(error));
  assert.equal(error.kind, kind, error.message);
  assert.match(error.message, words);
  return true;
};
const close = (actual, expected) => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-5, `${i}: ${value}, expected ${expected[i]}`));
};

test('an ONNX file gives what it gives on the host', async () => {
  const said = [];
  const model = await kiln.load(new Blob([bytes('net.onnx')]), {name: 'net.onnx', onProgress: progress => said.push(progress)});
  assert.equal(said.at(-1).loaded, said.at(-1).total);
  assert.equal(model.kind, 'onnx');
  assert.deepEqual(model.inputs[0].shape, [1, 3, 32, 32]);
  assert.equal(model.inputs[0].dtype, 'float32');
  const [input] = model.inputs, [output] = model.outputs;
  for (const inputs of [{[input.name]: floats('picture.f32')}, [floats('picture.f32')], floats('picture.f32'),
    {data: floats('picture.f32'), shape: [1, 3, 32, 32]}, await kiln.tensor(floats('picture.f32'), [1, 3, 32, 32])]) {
    const outputs = await model.run(inputs);
    assert.deepEqual(outputs[output.name].shape, [1, 5]);
    close(await outputs[output.name].data(), floats('expected.f32'));
    const {handles} = await kiln.memory(), {[output.name]: scores} = await model.run(inputs, {arrays: true});
    assert.ok(scores instanceof Float32Array);
    close(scores, floats('expected.f32'));
    assert.equal((await kiln.memory()).handles, handles);
  }
  await assert.rejects(model.run({image: floats('picture.f32')}), isError('ArgumentError', /net.onnx: there is no input 'image'/));
  await assert.rejects(model.run(floats('picture.f32').subarray(1)), isError('ShapeError', /net.onnx/));
  model.dispose();
  await assert.rejects(model.run(floats('picture.f32')), isError('ArgumentError', /disposed/));
});

test('so does a captured graph', async () => {
  const model = await kiln.load(bytes('graph.safetensors'));
  assert.equal(model.kind, 'graph');
  const {output} = await model.run({input: floats('picture.f32')});
  close(await output.data(), floats('expected.f32'));
});

test('tensors come from a safetensors file', async () => {
  const {tensors, metadata} = await kiln.load(bytes('tensors.safetensors'));
  assert.deepEqual([...await tensors.weight.data()], [1, 2, 3, 4]);
  assert.deepEqual(tensors.weight.shape, [2, 2]);
  assert.equal(metadata.by, 'make_files');
});

test('handles are freed, once', async () => {
  const {handles} = await kiln.memory();
  const tensor = await kiln.tensor([1, 2, 3]), whole = await kiln.tensor(new BigInt64Array([1n, -2n]), [2, 1]);
  assert.ok(tensor instanceof Tensor);
  assert.equal(whole.dtype, 'int64');
  assert.deepEqual([...await whole.data()], [1n, -2n]);
  assert.equal((await kiln.memory()).handles, handles + 2);
  tensor.dispose();
  tensor.dispose();
  whole.dispose();
  assert.ok(tensor.disposed);
  await assert.rejects(tensor.data(), isError('ArgumentError', /this Tensor was disposed/));
  assert.equal((await kiln.memory()).handles, handles);
});

test('damaged and cut files are refused, and Kiln lives on', async () => {
  for (const name of ['net.onnx', 'graph.safetensors']) {
    const whole = bytes(name);
    for (let length = 1; length < whole.length; length += Math.ceil(whole.length / 40))
      await assert.rejects(kiln.load(whole.slice(0, length), {name}), error => error instanceof KilnError && error.message.includes(name));
    for (let i = 0; i < whole.length; i += Math.ceil(whole.length / 200)) {
      const damaged = whole.slice();
      damaged[i] ^= 0x5a;
      await kiln.load(damaged, {name}).then(model => model.dispose(), error => assert.ok(error instanceof KilnError, String(error)));
    }
  }
  await assert.rejects(kiln.load(new Uint8Array(0), {name: 'x'}), isError('DataError', /x: the file is empty/));
  close(await (await (await kiln.load(bytes('graph.safetensors'))).run(floats('picture.f32'))).output.data(), floats('expected.f32'));
});

test('downloads say what is wrong', async () => {
  const response = (length, sent) => new Response(new Uint8Array(sent), {headers: {'Content-Length': String(length)}});
  await assert.rejects(kiln.load(response(100, 10)), isError('IoError', /10 bytes of the 100/));
  await assert.rejects(kiln.load(response(2 ** 33, 10)), error => error instanceof KilnError);
  await assert.rejects(kiln.load('http://127.0.0.1:9/none.onnx'), isError('IoError', /none.onnx: the file could not be fetched/));
  const abort = new AbortController();
  abort.abort();
  await assert.rejects(kiln.load(bytes('net.onnx'), {signal: abort.signal}), {name: 'AbortError'});
});

test('memory that runs out is an error, and Kiln lives on', async () => {
  const small = await Kiln.start({module: 'file://' + join(modules, 'kiln.js'), worker: false});
  const part = new Uint8Array(256 << 20), held = [];
  await assert.rejects(async () => {
    for (let i = 0; i < 64; ++i) held.push(await small.tensor(part));
  }, isError('MemoryError', /memory/));
  for (const tensor of held) tensor.dispose();
  await small.releaseMemory();
  const tensor = await small.tensor([1, 2]);
  assert.deepEqual([...await tensor.data()], [1, 2]);
});

test('functions of C++ and of JavaScript call each other', async () => {
  const digits = await start('digits');
  assert.ok((await digits.call('kiln.functions')).includes('read'));
  await assert.rejects(digits.functions.raed(1), isError('ArgumentError', /offers no function 'raed' \(did you mean 'read'\?\)/));
  await assert.rejects(digits.functions.train_on_drawn(100, {epoch: 1}), isError('ArgumentError', /has no 'epoch' \(did you mean 'epochs'\?\)/));
  const training = await digits.functions.train_on_drawn(640, {hidden_size: 16});
  const steps = [];
  assert.equal(await digits.functions.train(training, 100, ({step, loss}) => { steps.push(loss); return step < 3; }), true);
  assert.equal(steps.length, 3);
  await assert.rejects(digits.functions.train(training, 1, () => { throw new TypeError('mine'); }), {name: 'TypeError', message: 'mine'});
  const reader = await digits.functions.trained_reader(training);
  const {digit, probabilities} = await digits.functions.read(reader, {data: new Float32Array(784).fill(1, 350, 400), shape: [28, 28]});
  assert.ok(digit >= 0 && digit <= 9);
  assert.ok(Math.abs(probabilities.reduce((a, b) => a + b) - 1) < 1e-4);
  await assert.rejects(kiln.call('kiln.read', reader), isError('ArgumentError', /belongs to another Kiln/));
  digits.close();
  await assert.rejects(digits.device(), isError('DeviceError', /was closed/));
});
