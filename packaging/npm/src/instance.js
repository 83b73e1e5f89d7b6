// A module of Kiln in this thread: calls go to kiln_call, one at a time.
import {handlesOf, read, write} from './codec.js';
import {download} from './download.js';
import {KilnError} from './errors.js';

/** The memory that the module has, whose buffer changes when it grows. */
class Memory {
  constructor(module) {
    this.module = module;
  }
  bytes() {
    return new Uint8Array(this.module.wasmMemory.buffer);
  }
  allocate(bytes) {
    // Numbers beyond 32 bits would lose their upper ones on the way.
    const address = bytes < 2 ** 32 ? this.module._kiln_allocate(bytes) >>> 0 : 0;
    if (address === 0)
      throw new KilnError('MemoryError', `${bytes} bytes do not fit into the memory of this page: dispose tensors that are ` +
          'no longer used, or use a smaller model');
    return address;
  }
  free(address) {
    this.module._kiln_free(address);
  }
  /** A copy, which is nobody's else. */
  copy(address, bytes) {
    return this.bytes().slice(address, address + bytes);
  }
}

const encoder = new TextEncoder(), known = new Map();
/** A function's name as C++ reads it. There are few names, which are asked for often. */
function lettersOf(name) {
  let letters = known.get(name);
  if (!letters) known.set(name, letters = encoder.encode(name + '\0'));
  return letters;
}

export class Instance {
  #module;
  #memory;
  #last = Promise.resolve();
  #ended = null;
  #onCallback = null;
  #thrown = null;
  #reject = null;       // of the call that runs
  #threadBroke = null;  // why

  /**
   * `factory` is the default export of what Emscripten wrote, `options` are its options. `onCallback(number, item)` runs a
   * function of JavaScript that C++ calls, and returns false to stop.
   */
  static async start(factory, options = {}) {
    const instance = new Instance();
    const module = {
      ...options,
      noInitialRun: true,
      kilnCallBack: (number, address, bytes) => instance.#callBack(number, address >>> 0, bytes),
      kilnThreadBroke: why => instance.#breakOff(why),
    };
    try {
      instance.#module = await factory(module);
      instance.#memory = new Memory(instance.#module);
      instance.#module._main?.(0, 0);  // offers the page's functions
    } catch (error) {
      throw new KilnError('DeviceError', `Kiln's module did not start: ${error?.message ?? error}`, {cause: error});
    }
    return instance;
  }

  /** Runs a function of C++ with a list of items, and returns an item. */
  call(name, args, {onCallback} = {}) {
    return this.#next(() => this.#call(name, args, onCallback));
  }

  /** Downloads a model and loads it; `request` is a Map of kiln/browser/model_functions.cpp's LoadRequest without the bytes. */
  async load(source, request, {onProgress, signal} = {}) {
    this.#check();
    const block = await download(source, this.#memory, {onProgress, signal});
    return this.#next(() => this.#call('kiln.load', [new Map([...request, ['bytes', block]])]));
  }

  /** Whether all further calls are rejected. */
  get ended() { return this.#ended !== null; }

  close() {
    this.#ended ??= new KilnError('DeviceError', 'this Kiln was closed: start another');
  }

  /** Each call begins when the one before has ended, as one that waits for a GPU leaves the module in the middle. */
  #next(run) {
    const result = this.#last.then(run);
    this.#last = result.catch(() => {});
    return result;
  }

  #check() {
    if (this.#ended) throw this.#ended;
  }

  /** Nothing is thrown through C++: the call ends as soon as it can, and then throws what the function threw. */
  #callBack(number, address, bytes) {
    try {
      const item = read(this.#memory.copy(address, bytes), this.#memory);
      if (this.#onCallback && !this.#thrown) return this.#onCallback(number, item) === false ? 0 : 1;
      this.#drop(item);
      return 0;
    } catch (error) {
      this.#thrown ??= {error};
      return 0;
    }
  }

  /** Frees what an item holds that reaches nobody, after the calls that wait. */
  #drop(item) {
    const handles = handlesOf(item);
    if (handles.length > 0) this.call('kiln.dispose', [handles]).catch(() => {});
  }

  /** Runs kiln_call, which ends also where a thread of the module breaks off for which it waits. */
  #run(...numbers) {
    // A module with WebGPU has a way of its own, as it waits for the GPU in the middle of a call.
    const call = this.#module.kilnCall ?? ((_, ...numbers) => this.#module._kiln_call(...numbers));
    let alive;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const status = call('kiln_call', ...numbers);
      if (typeof status === 'number') return resolve(status);
      // The threads of a module do not keep Node from ending.
      if (globalThis.process?.versions?.node) alive = setInterval(() => {}, 1 << 30);
      status.then(resolve, reject);
    }).finally(() => clearInterval(alive));
  }

  #breakOff(why) {
    this.#threadBroke = why;
    if (this.#reject) return this.#reject(new WebAssembly.RuntimeError(why));
    this.#ended ??= new KilnError('FatalError', `a thread of Kiln's module ended (${why}): start another`);
  }

  /** The call was left, so that this thread hears of the other one, by a message that is on its way. */
  async #whyThreadBroke() {
    for (let i = 0; i < 100 && this.#threadBroke === null; ++i) await new Promise(resolve => setTimeout(resolve, 10));
    return this.#threadBroke ?? 'a thread of it broke off';
  }

  async #call(name, args, onCallback) {
    this.#check();
    const memory = this.#memory;
    const letters = lettersOf(name);
    const [place, length] = write(args, memory, bytes => {
      const place = memory.allocate(8 + letters.length + bytes.length);
      memory.bytes().set(letters, place + 8);
      memory.bytes().set(bytes, place + 8 + letters.length);
      return [place, bytes.length];
    });
    let status;
    this.#onCallback = onCallback;
    this.#thrown = null;
    try {
      status = await this.#run(place + 8, place + 8 + letters.length, length, place);
    } catch (error) {
      // kiln_call throws nothing: the module itself broke off, and its memory may be in any state.
      const why = error === 'unwind' ? await this.#whyThreadBroke() : error?.message ?? error;
      this.#ended = new KilnError('FatalError', `Kiln's module ended in '${name}' (${why}): start another, with less work at once`,
          {cause: error});
      throw this.#ended;
    } finally {
      this.#onCallback = this.#reject = null;
    }
    const [address, size] = new Uint32Array(memory.copy(place, 8).buffer);
    memory.free(place);
    if (address === 0) throw new KilnError('MemoryError', `${name}: the memory of this page is used up`);
    const answer = memory.copy(address, size);
    memory.free(address);
    const item = read(answer, memory);
    if (this.#thrown) {
      this.#drop(item);
      throw this.#thrown.error;
    }
    if (status === 0) return item;
    throw new KilnError(item.get('kind'), item.get('message'));
  }
}
