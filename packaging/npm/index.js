// Kiln in a browser: models from ONNX files, captured graphs and safetensors, and the functions of a page's own C++.
import {dtypeOf} from './src/codec.js';
import {nameOf} from './src/download.js';
import {KilnError} from './src/errors.js';
import {Instance} from './src/instance.js';
import {WorkerInstance} from './src/worker_instance.js';

export {KilnError};

const dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
const isArray = value => ArrayBuffer.isView(value) && !(value instanceof DataView);

/** What C++ holds for JavaScript: freed by dispose(), by `using`, or at the latest with the JavaScript object. */
class Held {
  #kiln;
  #handle;
  constructor(kiln, handle) {
    this.#kiln = kiln;
    this.#handle = handle;
    kiln._held.register(this, handle, this);
  }
  get kiln() { return this.#kiln; }
  get disposed() { return this.#handle === null; }
  /** For calls; throws where it was disposed. */
  get _handle() {
    if (this.#handle === null) throw new KilnError('ArgumentError', `this ${this.constructor.name} was disposed`);
    return this.#handle;
  }
  dispose() {
    if (this.#handle === null) return;
    this.#kiln._held.unregister(this);
    this.#kiln._dispose(this.#handle);
    this.#handle = null;
  }
  [dispose]() { this.dispose(); }
}

/** A tensor on Kiln's device. It never changes. */
export class Tensor extends Held {
  constructor(kiln, {handle, dtype, shape}) {
    super(kiln, handle);
    this.dtype = dtype;
    this.shape = Object.freeze(shape);
  }
  get size() { return this.shape.reduce((product, size) => product * size, 1); }
  /** The elements in row-major order; float16 and bfloat16 as Float32Array, bool as Uint8Array of 0 and 1. */
  data() { return this.kiln.call('kiln.read', this); }
  /** The only element. */
  async item() {
    if (this.size !== 1) throw new KilnError('ShapeError', `item: the tensor has ${this.size} elements, not one`);
    return (await this.data())[0];
  }
}

/** An object of the page's C++: an argument for its functions. */
export class KilnObject extends Held {
  constructor(kiln, {handle, type}) {
    super(kiln, handle);
    this.type = type;
  }
}

/** A model that runs: of an ONNX file, or of a captured graph. */
export class Model {
  #object;
  constructor(kiln, loaded) {
    this.#object = loaded.model;
    Object.assign(this, {kiln, kind: loaded.kind, device: loaded.device, inputs: loaded.inputs, outputs: loaded.outputs});
  }
  /**
   * Inputs by name, or in their order, or the only one; typed arrays get the declared shape. Returns Tensors by name, or with
   * `arrays` their elements, which saves a message to a worker and handles.
   */
  run(inputs, {arrays = false} = {}) { return this.kiln.call('kiln.run', this.#object, inputs, ...(arrays ? [true] : [])); }
  dispose() { this.#object.dispose(); }
  [dispose]() { this.dispose(); }
}

/** The tensors of a safetensors file. */
export class Tensors {
  constructor({tensors, metadata, device}) {
    Object.assign(this, {kind: 'tensors', tensors, metadata, device});
  }
  dispose() {
    for (const tensor of Object.values(this.tensors)) tensor.dispose();
  }
  [dispose]() { this.dispose(); }
}

export class Kiln {
  #instance;
  #unused = [];
  #functions = null;

  /** Use Kiln.start(). */
  constructor(instance) {
    this.#instance = instance;
    this._held = new FinalizationRegistry(handle => this._dispose(handle));
  }

  /** Starts a module: in a worker of its own, where the page is never held up, or in this thread. */
  static async start({module = new URL('./dist/kiln.js', import.meta.url), worker = typeof document !== 'undefined',
                      threads = Boolean(globalThis.crossOriginIsolated), device,
                      webgpu = device ? device.startsWith('webgpu') : Boolean(globalThis.navigator?.gpu), options} = {}) {
    const more = {webgpu, threads: threads && (worker || typeof document === 'undefined')};
    const instance = await startFirst(modulesFor(module, more), worker, options);
    const kiln = new Kiln(instance);
    try {
      if (device) await kiln.useDevice(device);
    } catch (error) {
      kiln.close();
      throw error;
    }
    return kiln;
  }

  /** Loads a model with a Kiln that all such calls share, and that is started by the first. */
  static async load(source, {start, ...options} = {}) {
    const started = shared ??= Kiln.start(start);
    let kiln = null;
    try {
      kiln = await started;
      return await kiln.load(source, options);
    } catch (error) {
      // One that did not start, or has ended, is no other call's.
      if (shared === started && (!kiln || kiln.#instance.ended)) shared = null;
      throw error;
    }
  }

  /**
   * Loads a model from an address, a Response, a Blob (a File) or bytes. Which of the formats it is, its content says. The
   * promise is a Model, or Tensors where a safetensors file has no program.
   */
  async load(source, {onProgress, signal, device = null, freeBatch = false, name = nameOf(source)} = {}) {
    const request = new Map([['name', name], ['device', device], ['free_batch', freeBatch]]);
    if (typeof source === 'string' || source instanceof URL) source = String(absolute(source));
    const loaded = this.#raised(await this.#instance.load(source, request, {onProgress, signal}));
    return loaded.kind === 'tensors' ? new Tensors(loaded) : new Model(this, loaded);
  }

  /** A tensor on the default device; `dtype` is that of the typed array, or 'bool' for one of Uint8Array. */
  tensor(data, shape = [data.length], dtype = null) {
    return this.call('kiln.tensor', {data: isArray(data) ? data : Float32Array.from(data), shape, dtype});
  }

  /** Calls a function that C++ offers (kiln/browser/function.hpp). */
  async call(name, ...args) {
    const callbacks = [];
    const items = args.map(arg => this.#lowered(arg, callbacks));
    const onCallback = (number, item) => {
      const argument = this.#raised(item);
      try {
        return callbacks[number](argument);
      } catch (error) {
        disposeAll(argument);
        throw error;
      }
    };
    return this.#raised(await this.#instance.call(name, items, {onCallback}));
  }

  /** The functions of the page's own C++: kiln.functions.read(picture). */
  get functions() {
    return this.#functions ??= new Proxy({}, {
      // A promise would be asked for `then`.
      get: (_, name) => typeof name === 'string' && name !== 'then' ? (...args) => this.call(name, ...args) : undefined,
    });
  }

  /** Where typed arrays and models go from now on: "cpu", "webgpu" of a module that has it. Rejects with a DeviceError where there is none. */
  useDevice(name) { return this.call('kiln.use_device', name); }
  device() { return this.call('kiln.device_name'); }
  /** {handles, bytes, peak}: what JavaScript holds, and the bytes of all tensors on the default device. */
  memory() { return this.call('kiln.memory'); }
  releaseMemory() { return this.call('kiln.release_memory'); }
  /** Ends it with all that it holds; calls that wait are rejected. */
  close() { this.#instance.close(); }
  [dispose]() { this.close(); }

  /** Frees handles once the code that runs now has ended, many in one call. */
  _dispose(handle) {
    if (this.#unused.push(handle) > 1) return;
    queueMicrotask(() => this.#instance.call('kiln.dispose', [this.#unused.splice(0)]).catch(() => {}));
  }

  /** A value of JavaScript as an item (src/codec.js). */
  #lowered(value, callbacks) {
    const each = inner => this.#lowered(inner, callbacks);
    if (value === undefined || value === null) return null;
    if (typeof value === 'bigint') return Number(value);
    if (typeof value === 'function') return {$: 'function', number: callbacks.push(value) - 1};
    if (typeof value !== 'object') return value;
    if (value instanceof Held) {
      if (value.kiln !== this) throw new KilnError('ArgumentError', `this ${value.constructor.name} belongs to another Kiln`);
      return {$: value instanceof Tensor ? 'tensor' : 'object', handle: value._handle};
    }
    if (isArray(value) || value instanceof ArrayBuffer) return value;
    if (Array.isArray(value)) return value.map(each);
    const fields = value instanceof Map ? [...value] : Object.entries(value);
    // {data, shape}: a typed array with its shape.
    if (fields.length === 2 && isArray(value.data) && Array.isArray(value.shape))
      return {$: 'data', array: value.data, dtype: dtypeOf(value.data), shape: value.shape};
    return new Map(fields.map(([name, inner]) => [name, each(inner)]));
  }

  /** An item as a value of JavaScript. */
  #raised(item) {
    if (item === null || typeof item !== 'object' || ArrayBuffer.isView(item)) return item;
    if (Array.isArray(item)) return item.map(inner => this.#raised(inner));
    if (item instanceof Map) return Object.fromEntries([...item].map(([name, inner]) => [name, this.#raised(inner)]));
    return item.$ === 'tensor' ? new Tensor(this, item) : new KilnObject(this, item);
  }
}

/** Disposes all tensors and objects in a value. */
function disposeAll(value) {
  if (value instanceof Held) value.dispose();
  else if (value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)) Object.values(value).forEach(disposeAll);
}

let shared = null;

function absolute(address) {
  return new URL(address, globalThis.document?.baseURI ?? globalThis.location?.href ?? import.meta.url);
}

/**
 * What may be started, the best first: modules with more lie beside the smallest, as far as their builder made them. On a page's own
 * thread calls must not wait for others, so there none has threads.
 */
function modulesFor(module, {webgpu, threads}) {
  if (typeof module === 'function') return [module];
  const address = String(absolute(module));
  const kinds = [[webgpu, threads], [webgpu, false], [false, threads], [false, false]];
  const names = kinds.map(([webgpu, threads]) => (webgpu ? '.webgpu' : '') + (threads ? '.threads' : ''));
  return [...new Set(names.map(name => address.replace(/\.js(?=$|\?)/, `${name}.js`)))];
}

/** Starts the first that is there. */
async function startFirst([module, ...others], worker, options) {
  try {
    if (typeof module === 'function') return await Instance.start(module, options);
    return worker ? await WorkerInstance.start(module, options) : await Instance.start(await factoryAt(module), options);
  } catch (error) {
    if (error.kind !== 'IoError' || others.length === 0) throw error;
    return startFirst(others, worker, options);
  }
}

async function factoryAt(address) {
  try {
    return (await import(address)).default;
  } catch (error) {
    throw new KilnError('IoError', `${address}: Kiln's module could not be imported (${error.message}): is it there?`);
  }
}

export default Kiln;
