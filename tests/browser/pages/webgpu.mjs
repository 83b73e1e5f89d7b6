// The browser's half of the device "webgpu" (kiln/backend/webgpu/browser/webgpu.js) in Node, on a WebGPU that records calls.
import {readFileSync} from 'node:fs';
import test from 'node:test';
import assert from 'node:assert/strict';

const source = readFileSync(new URL('../../../kiln/backend/webgpu/browser/webgpu.js', import.meta.url), 'utf8').replace(/^#.*$/gm, '');

/** The library as Emscripten puts it into a module with threads, and the answers that C++ hears. */
function library(gpu, exports = {}) {
  const heap = new ArrayBuffer(4096), answers = [], posted = [], Module = {};
  const wasmExports = {kiln_webgpu_answer: (ticket, status, number) => answers.push([ticket, status, number]), ...exports};
  const scope = {
    HEAPU8: new Uint8Array(heap),
    HEAPU32: new Uint32Array(heap),
    wasmExports,
    Module,
    navigator: {gpu},
    WebAssembly: {RuntimeError: WebAssembly.RuntimeError},  // without JSPI
    GPUBuffer: class {},
    GPUValidationError: class {},
    GPUOutOfMemoryError: class {},
    UTF8ArrayToString: () => 'text',
    lengthBytesUTF8: text => text.length,
    stringToUTF8Array() {},
    _malloc: () => 2048,
    postMessage: message => {
      posted.push(message);
      Module[message.handler](...message.args);
    },
  };
  const made = new Function(...Object.keys(scope), `
    let all;
    const addToLibrary = library => { all = library; };
    ${source}
    const KilnWebGpu = all.$KilnWebGpu;
    eval(all.$KilnWebGpu__postset);
    return {all, KilnWebGpu};`)(...Object.values(scope));
  /** Plays a command of these words. */
  const play = (...words) => {
    scope.HEAPU32.set(words);
    made.all.kiln_webgpu_play(0, words.length);
  };
  return {...made, Module, answers, posted, play};
}

const REQUEST_ADAPTER = 0, REQUEST_DEVICE = 1, QUEUE = 2, CREATE_BUFFER = 7, CREATE_ENCODER = 15, BEGIN_PASS = 16, DISPATCH = 19, SUBMIT = 24;
const later = () => new Promise(resolve => setTimeout(resolve, 5));

/** A device whose passes and queue throw, and that makes no buffers. */
const device = () => ({
  lost: new Promise(() => {}),
  queue: {submit() { throw new Error('submit'); }},
  createBuffer() { throw new RangeError('too large'); },
  createCommandEncoder: () => ({beginComputePass: () => ({dispatchWorkgroups() { throw new Error('dispatch'); }})}),
});

test('what a command throws is an error of its device, not of the last one', async () => {
  const gpu = {requestAdapter: async () => ({limits: {}, requestDevice: async () => device()})};
  const {play, answers} = library(gpu);
  play(REQUEST_ADAPTER, 1, 0, 10);
  await later();
  play(REQUEST_DEVICE, 1, 2, 11, 12, 13);
  await later();
  play(REQUEST_DEVICE, 1, 3, 21, 22, 23);
  await later();
  answers.length = 0;
  for (const [which, errors] of [[2, 13], [3, 23], [2, 13]]) {
    const [queue, encoder, pass, buffer] = [10, 20, 30, 40].map(base => base + which);
    play(QUEUE, which, queue);
    play(CREATE_ENCODER, which, encoder);
    play(BEGIN_PASS, encoder, pass);
    play(DISPATCH, pass, 1, 1, 1);
    play(SUBMIT, queue, 0);
    play(CREATE_BUFFER, which, buffer, 1, 16);
    play(9, buffer);  // unmap what was not made
    assert.deepEqual(answers.splice(0), Array(4).fill([errors, 2, 2]));
  }
});

test('a call whose thread breaks off is rejected, and that thread runs no more C++', async () => {
  let thread;
  const {KilnWebGpu, all, Module} = library({}, {
    kiln_call() { throw new WebAssembly.RuntimeError('unreachable'); },
    kiln_webgpu_call() { thread = () => all.kiln_webgpu_guarded(1, 2, 3, 4); },
  });
  const called = Module.kilnCall('kiln_call', 1, 2, 3, 4);
  await later();
  assert.throws(thread, thrown => thrown === 'unwind');
  await assert.rejects(called, error => error instanceof WebAssembly.RuntimeError && error.message === 'unreachable');
  // The next one is a call like any other.
  const next = Module.kilnCall('kiln_call', 1, 2, 3, 4);
  await later();
  KilnWebGpu.called(7);
  assert.equal(await next, 7);
});
