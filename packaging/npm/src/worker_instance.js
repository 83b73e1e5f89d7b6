// A module of Kiln in a worker, with the functions that an Instance has.
import {handlesOf} from './codec.js';
import {sendable} from './download.js';
import {KilnError} from './errors.js';

export class WorkerInstance {
  #worker;
  #calls = new Map();  // what waits for an answer, by number
  #last = 0;
  #ended = null;
  #stop = globalThis.crossOriginIsolated ? new Int32Array(new SharedArrayBuffer(4)) : null;

  /** `module` is the address of what Emscripten wrote; the worker imports it. */
  static async start(module, options = {}) {
    const instance = new WorkerInstance();
    instance.#worker = new Worker(new URL('../worker.js', import.meta.url), {type: 'module', name: 'kiln'});
    instance.#worker.onmessage = ({data}) => instance.#answer(data);
    instance.#worker.onerror = event => instance.#end(new KilnError('FatalError',
        `Kiln's worker ended: ${event.message ?? 'its script could not be loaded'}: start another`));
    instance.#worker.onmessageerror = () => instance.#end(new KilnError('FatalError', 'a message to Kiln\'s worker was damaged'));
    try {
      await instance.#ask({start: {module: String(module), options, stop: instance.#stop}});
    } catch (error) {
      instance.close();
      throw error;
    }
    return instance;
  }

  /** Whether all further calls are rejected. */
  get ended() { return this.#ended !== null; }

  call(name, args, {onCallback} = {}) {
    return this.#ask({call: {name, args}}, {onCallback});
  }

  async load(source, request, {onProgress, signal} = {}) {
    signal?.throwIfAborted();
    if (source instanceof Response) {
      source = await sendable(source);
      signal?.throwIfAborted();
    }
    const answer = this.#ask({load: {source: source instanceof URL ? String(source) : source, request}}, {onProgress});
    const number = this.#last, abort = () => this.#worker.postMessage({abort: number});
    signal?.addEventListener('abort', abort);
    try {
      return await answer;
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Ends the worker, also in the middle of a call. */
  close() {
    this.#end(new KilnError('DeviceError', 'this Kiln was closed: start another'));
  }

  #ask(message, heard = {}) {
    if (this.#ended) return Promise.reject(this.#ended);
    const number = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(number, {resolve, reject, ...heard});
      try {
        this.#worker.postMessage({number, ...message});
      } catch (error) {
        this.#calls.delete(number);
        reject(new KilnError('ArgumentError', `this cannot be sent to Kiln's worker: ${error.message}`, {cause: error}));
      }
    });
  }

  #answer({number, result, error, progress, callback}) {
    const call = this.#calls.get(number);
    if (!call) return;
    if (progress) call.onProgress?.(progress);
    else if (callback) this.#callBack(number, call, callback);
    else {
      this.#calls.delete(number);
      if (call.thrown) {
        this.#drop(result);
        call.reject(call.thrown.error);
      } else if (error) call.reject(KilnError.fromData(error));
      else call.resolve(result);
      if (error?.kind === 'FatalError') this.#end(KilnError.fromData(error));
    }
  }

  /** What the function throws is the call's error, once C++ has ended. */
  #callBack(number, call, callback) {
    if (call.thrown) return this.#drop(callback.item);
    let goesOn = true;
    try {
      goesOn = call.onCallback?.(callback.number, callback.item) !== false;
    } catch (error) {
      call.thrown = {error};
      goesOn = false;
    }
    // By its number: the worker may have gone on to the next call.
    if (!goesOn && this.#stop) Atomics.store(this.#stop, 0, number);
  }

  /** Frees what an item holds that reaches nobody. */
  #drop(item) {
    const handles = handlesOf(item);
    if (handles.length > 0) this.call('kiln.dispose', [handles]).catch(() => {});
  }

  #end(error) {
    if (this.#ended) return;
    this.#ended = error;
    this.#worker.terminate();
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }
}
