// The package's JavaScript alone, in Node, on a module that gives back the bytes it gets: values, errors, order, handles.
import test from 'node:test';
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const {Kiln, KilnError} = await import(new URL('../../../packaging/npm/index.js', import.meta.url));

/** Memory without a free; "echo" answers with its argument, "fail" with it as an error, "slow" later, "trap" breaks off. */
async function factory() {
  const wasmMemory = new WebAssembly.Memory({initial: 4, maximum: 256}), heard = [];
  let end = 1024;
  const allocate = bytes => {
    const address = (end + 15) & ~15, missing = address + bytes - wasmMemory.buffer.byteLength;
    if (missing > 0)
      try {
        wasmMemory.grow(Math.ceil(missing / 65536));
      } catch {
        return 0;
      }
    end = address + bytes;
    return address;
  };
  const answer = (args, bytes, place) => {
    const length = bytes - 9, address = allocate(length);  // without the list's tag and count
    new Uint8Array(wasmMemory.buffer).copyWithin(address, args + 9, args + bytes);
    new Uint32Array(wasmMemory.buffer, place, 2).set([address, length]);
  };
  return {
    wasmMemory,
    heard,
    _kiln_allocate: allocate,
    _kiln_free() {},
    _kiln_call(name, args, bytes, place) {
      const memory = new Uint8Array(wasmMemory.buffer), function_ = new TextDecoder().decode(memory.slice(name, memory.indexOf(0, name)));
      heard.push(function_);
      if (function_ === 'trap') throw new WebAssembly.RuntimeError('unreachable');
      if (function_ === 'slow') return new Promise(resolve => setTimeout(() => { answer(args, bytes, place); heard.push('slow ended'); resolve(0); }, 20));
      answer(args, bytes, place);
      return function_ === 'fail' ? 1 : 0;
    },
  };
}
/** The module is given out, too. */
async function start() {
  let module;
  const kiln = await Kiln.start({module: async () => module = await factory()});
  return {kiln, module};
}

test('values come back as they went', async () => {
  const {kiln} = await start();
  for (const value of [null, true, false, 0, -1.5, Infinity, '', 'größer 🙂', 'x'.repeat(5000), [], [1, [2, 'a']], {}, {a: {b: [null]}, 'ä': 1},
    new Float32Array([1, -0.5]), new Uint8Array(0), new BigInt64Array([-(2n ** 63n)]), new Float64Array(3), new Int16Array([7])])
    assert.deepEqual(await kiln.call('echo', value), value);
  assert.ok(Number.isNaN(await kiln.call('echo', NaN)));
  assert.equal(await kiln.call('echo', undefined), null);
  assert.equal(await kiln.call('echo', 12n), 12);
  assert.deepEqual(await kiln.call('echo', new Map([['a', 1]])), {a: 1});
  assert.deepEqual(await kiln.call('echo', new Float32Array([1, 2, 3, 4]).subarray(1, 3)), new Float32Array([2, 3]));
  assert.deepEqual(await kiln.call('echo', {data: new Float32Array(6), shape: [2, 3]}), new Float32Array(6));
  assert.deepEqual(await kiln.call('echo', new Uint8ClampedArray([1])), new Uint8Array([1]));
  // A name that JavaScript gives a meaning is a field like others.
  assert.ok(Object.hasOwn(await kiln.call('echo', JSON.parse('{"__proto__": 1}')), '__proto__'));
});

test('what is no value is refused, and memory that is not there is an error', async () => {
  const {kiln} = await start();
  await assert.rejects(kiln.call('echo', Symbol('x')), TypeError);
  await assert.rejects(kiln.call('echo', new Float32Array(8 << 20)), error => error instanceof KilnError && error.kind === 'MemoryError');
  assert.equal(await kiln.call('echo', 1), 1);
});

test('errors have a kind and a sentence; a module that breaks off says so from then on', async () => {
  const {kiln} = await start();
  await assert.rejects(kiln.call('fail', {kind: 'ShapeError', message: 'matmul: [2, 3] x [4, 5]'}),
      error => error instanceof KilnError && error.kind === 'ShapeError' && error.message === 'matmul: [2, 3] x [4, 5]');
  assert.equal(await kiln.call('echo', 1), 1);
  await assert.rejects(kiln.call('trap', 1), error => error.kind === 'FatalError' && /'trap' \(unreachable\): start another/.test(error.message));
  await assert.rejects(kiln.call('echo', 1), error => error.kind === 'FatalError');
  const other = await start();
  other.kiln.close();
  await assert.rejects(other.kiln.call('echo', 1), error => error.kind === 'DeviceError' && /was closed/.test(error.message));
});

test('a thread that breaks off ends the call that waits for it', async () => {
  let broke;
  const hangs = Kiln.start({module: async module => {
    broke = module.kilnThreadBroke;
    return {...await factory(), _kiln_call: () => new Promise(() => {})};
  }});
  const kiln = await hangs, call = kiln.call('echo', 1);
  setTimeout(() => broke('unreachable'), 5);
  await assert.rejects(call, error => error.kind === 'FatalError' && /'echo' \(unreachable\): start another/.test(error.message));
  await assert.rejects(kiln.call('echo', 1), error => error.kind === 'FatalError');
  // Emscripten leaves a call that waits in this thread, and then tells of the other one.
  const leaves = await Kiln.start({module: async module => ({...await factory(), _kiln_call: () => {
    setTimeout(() => module.kilnThreadBroke('out of bounds'), 20);
    throw 'unwind';
  }})});
  await assert.rejects(leaves.call('echo', 1), error => error.kind === 'FatalError' && /'echo' \(out of bounds\)/.test(error.message));
  const idle = await Kiln.start({module: async module => {
    broke = module.kilnThreadBroke;
    return factory();
  }});
  broke('stack overflow');
  await assert.rejects(idle.call('echo', 1), error => error.kind === 'FatalError' && /stack overflow/.test(error.message));
});

test('a call that a thread carries out keeps Node from ending', () => {
  const program = `
    const {Kiln} = await import(${JSON.stringify(new URL('../../../packaging/npm/index.js', import.meta.url).href)});
    const wasmMemory = new WebAssembly.Memory({initial: 1});
    const kiln = await Kiln.start({module: async () => ({wasmMemory, _kiln_allocate: () => 1024, _kiln_free() {},
      _kiln_call: () => new Promise(resolve => setTimeout(() => resolve(0), 50).unref())})});
    await kiln.call('x').catch(error => { if (error.kind !== 'MemoryError') throw error; });`;  // an answer at no address
  execFileSync(process.execPath, ['--input-type=module', '-e', program], {stdio: ['ignore', 'inherit', 'inherit']});
});

test('calls run one at a time, in their order', async () => {
  const {kiln, module} = await start();
  assert.deepEqual(await Promise.all([kiln.call('slow', 1), kiln.call('echo', 2), kiln.functions.slow(3)]), [1, 2, 3]);
  assert.deepEqual(module.heard, ['slow', 'slow ended', 'echo', 'slow', 'slow ended']);
});

test('downloads are whole, from a server that answers, and say how far they are', async () => {
  const {download, nameOf, sendable} = await import(new URL('../../../packaging/npm/src/download.js', import.meta.url));
  const {wasmMemory, _kiln_allocate: allocate} = await factory(), freed = [];
  const memory = {allocate, bytes: () => new Uint8Array(wasmMemory.buffer), free: address => freed.push(address)};
  const whole = Uint8Array.from({length: 200000}, (_, i) => i), response = length => new Response(whole, {headers: {'Content-Length': length}});
  for (const source of [whole, whole.buffer, new Blob([whole]), new Response(whole), response(200000), await sendable(response(200000))]) {
    const said = [], {address, bytes} = await download(source, memory, {onProgress: progress => said.push(progress)});
    assert.deepEqual(memory.bytes().slice(address, address + bytes), whole);
    if (source !== whole && source !== whole.buffer) assert.equal(said.at(-1).loaded, 200000);
  }
  freed.length = 0;
  for (const source of [response(200001), await sendable(response(200001))])
    await assert.rejects(download(source, memory), error => error.kind === 'IoError' && /200000 bytes of the 200001/.test(error.message));
  await assert.rejects(download(response(200000), memory, {onProgress() { throw new TypeError('mine'); }}), {name: 'TypeError', message: 'mine'});
  assert.equal(freed.length, 3);
  const missing = new Response('none', {status: 404, statusText: 'Not Found'});
  await assert.rejects(download(missing, memory), error => error.kind === 'IoError' && /answered 404 Not Found/.test(error.message));
  await assert.rejects(sendable(missing), error => error.kind === 'IoError');
  assert.equal(nameOf('http://x/a%20b.onnx?c'), 'a b.onnx');
  assert.equal(nameOf('100%.onnx'), '100%.onnx');
});

test('what a call was given is freed where it cannot be made', async () => {
  const freed = [];
  let module, left = 2;
  const kiln = await Kiln.start({module: async () => {
    module = await factory();
    const {_kiln_allocate: allocate} = module;
    return Object.assign(module, {_kiln_allocate: bytes => left-- > 0 ? allocate(bytes) : 0, _kiln_free: address => freed.push(address)});
  }});
  await assert.rejects(kiln.call('echo', new Float32Array(4), new Float32Array(5)), error => error.kind === 'MemoryError');
  assert.equal(freed.length, 2);
});

/** A module that calls functions of JavaScript with a tensor of a new handle, and answers with another, as C++ does. */
async function startHolding() {
  const held = new Set();
  let module, last = 0;
  const text = word => [4, ...new Uint8Array(new Float64Array([word.length]).buffer), ...new TextEncoder().encode(word)];
  const number = value => [...new Uint8Array(new Float64Array([value]).buffer)];
  const tensor = () => {
    held.add(++last);
    return Uint8Array.from([5, ...number(last), ...text('float32').slice(1), 9, ...number(0)]);
  };
  const put = bytes => {
    const address = module._kiln_allocate(bytes.length);
    new Uint8Array(module.wasmMemory.buffer).set(bytes, address);
    return [address, bytes.length];
  };
  const kiln = await Kiln.start({module: async ({kilnCallBack}) => {
    module = await factory();
    return Object.assign(module, {_kiln_call(name, args, bytes, place) {
      const memory = new Uint8Array(module.wasmMemory.buffer), view = new DataView(module.wasmMemory.buffer);
      const function_ = new TextDecoder().decode(memory.slice(name, memory.indexOf(0, name)));
      let answer = Uint8Array.of(0);
      if (function_ === 'kiln.dispose')  // a list of one list of numbers
        for (let at = args + 18; at < args + bytes; at += 9) held.delete(view.getFloat64(at + 1, true));
      else {
        for (let i = 0; i < 3; ++i) kilnCallBack(0, ...put(tensor()));
        answer = tensor();
      }
      new Uint32Array(module.wasmMemory.buffer, place, 2).set(put(answer));
      return 0;
    }});
  }});
  return {kiln, held};
}

test('a function that throws leaves no handles', async () => {
  const {kiln, held} = await startHolding();
  const kept = [], given = await kiln.call('each', tensor => { kept.push(tensor); });
  assert.deepEqual([...held], [1, 2, 3, 4]);
  for (const each of [...kept, given]) each.dispose();
  await kiln.call('kiln.dispose', []);
  assert.equal(held.size, 0);
  await assert.rejects(kiln.call('each', () => { throw new TypeError('mine'); }), {name: 'TypeError', message: 'mine'});
  await kiln.call('kiln.dispose', []);
  await kiln.call('kiln.dispose', []);
  assert.equal(held.size, 0);
});

test('a Kiln that does not start is tried again by the next load', async () => {
  let starts = 0;
  const start = {module: async () => { ++starts; throw new Error('no memory'); }};
  for (const _ of [1, 2]) await assert.rejects(Kiln.load(new Uint8Array(1), {start}), /did not start/);
  assert.equal(starts, 2);
});

test('what is asked for decides which of the modules starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kiln-modules-')), names = ['m', 'm.threads', 'm.webgpu', 'm.webgpu.threads'];
  try {
    for (const name of names) writeFileSync(join(folder, `${name}.js`), `export default async () => { throw new Error('this is ${name}'); };`);
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    let version = 1;  // Node imports a file once
    const started = async wish => {
      const error = await Kiln.start({module: `file://${folder}/m.js?version=${++version}`, worker: false, ...wish}).catch(error => error);
      return error.message.match(/this is (\S+)$/)[1];
    };
    assert.equal(await started({}), 'm');  // Node has no WebGPU
    assert.equal(await started({device: 'cpu'}), 'm');
    assert.equal(await started({device: 'webgpu'}), 'm.webgpu');
    assert.equal(await started({threads: true}), 'm.threads');
    assert.equal(await started({threads: true, device: 'webgpu'}), 'm.webgpu.threads');
    assert.equal(await started({device: 'cpu', webgpu: true}), 'm.webgpu');
    globalThis.navigator ??= {};
    Object.defineProperty(globalThis.navigator, 'gpu', {value: {}, configurable: true});
    assert.equal(await started({}), 'm.webgpu');
    assert.equal(await started({device: 'cpu'}), 'm');
    assert.equal(await started({webgpu: false}), 'm');
    // The best of those that are there is taken where the builder made fewer.
    const without = async (names, wish) => {
      for (const name of names) rmSync(join(folder, `${name}.js`));
      return started(wish);
    };
    assert.equal(await without(['m.webgpu.threads'], {threads: true}), 'm.webgpu');
    assert.equal(await without(['m.webgpu'], {threads: true}), 'm.threads');
    assert.equal(await without(['m.threads'], {threads: true}), 'm');
    const none = await Kiln.start({module: `file://${folder}/n.js`, worker: false, threads: true}).catch(error => error);
    assert.equal(none.kind, 'IoError');
    assert.match(none.message, /\/n\.js: Kiln's module could not be imported/);
  } finally {
    delete globalThis.navigator?.gpu;
    rmSync(folder, {recursive: true});
  }
});

test('a module that does not start says why', async () => {
  await assert.rejects(Kiln.start({module: async () => { throw new Error('no memory'); }}), /Kiln's module did not start: no memory/);
  await assert.rejects(Kiln.start({module: 'file:///nowhere.js', worker: false}), /nowhere.js: Kiln's module could not be imported/);
});
