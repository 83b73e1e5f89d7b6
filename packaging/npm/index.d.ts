// Types of index.js.

/** An error with Kiln's sentence. `kind` is its class: "ShapeError", "DataError", "MemoryError", ... */
export class KilnError extends Error {
  readonly kind: 'ShapeError' | 'DTypeError' | 'IndexError' | 'ArgumentError' | 'DeviceError' | 'AutodiffError' | 'MemoryError' |
      'DataError' | 'LoadError' | 'ConfigError' | 'IoError' | 'VerifyError' | 'FatalError' | 'Error';
  constructor(kind: string, message: string, options?: {cause?: unknown});
}

export type TypedArray = Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array |
    Uint8ClampedArray | Uint16Array | Uint32Array | BigUint64Array;
export type DType = 'float64' | 'float32' | 'float16' | 'bfloat16' | 'int64' | 'int32' | 'int16' | 'int8' | 'uint64' | 'uint32' |
    'uint16' | 'uint8' | 'bool';

/** What a model or a function of C++ takes for a tensor. */
export type TensorLike = Tensor | TypedArray | {data: TypedArray; shape: number[]};

declare class Held {
  readonly kiln: Kiln;
  readonly disposed: boolean;
  /** Frees it; a second call does nothing. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** A tensor on Kiln's device. It never changes. */
export class Tensor extends Held {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly size: number;
  /** The elements in row-major order; float16 and bfloat16 as Float32Array, bool as Uint8Array of 0 and 1. */
  data<T extends TypedArray = Float32Array>(): Promise<T>;
  /** The only element. Rejects with a ShapeError where there are more. */
  item(): Promise<number | bigint>;
}

/** An object of the page's C++, by a std::shared_ptr. */
export class KilnObject extends Held {
  readonly type: string;
}

/** An input or output as the file declares it: sizes, names of free sizes, or null; no shape: any rank. */
export interface Port {
  readonly name: string;
  readonly dtype: DType | string;
  readonly shape: readonly (number | string | null)[] | null;
}

export type ModelValue = Tensor | string[] | ModelValue[] | {[name: string]: ModelValue} | null;

export type ModelInputs = {[name: string]: TensorLike | string[]} | (TensorLike | string[])[] | TensorLike;

export class Model {
  readonly kiln: Kiln;
  readonly kind: 'onnx' | 'graph';
  readonly device: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /**
   * Inputs by name, by position, or the only one. Typed arrays get the declared shape. The results are Tensors by name (for
   * ONNX also texts, lists and maps), which the caller disposes.
   */
  run<Outputs = {[name: string]: Tensor}>(inputs: ModelInputs, options?: {arrays?: false}): Promise<Outputs>;
  /** The elements of the results, as `data()` gives them: one message to a worker instead of two, and nothing to dispose. */
  run<Outputs = {[name: string]: Float32Array}>(inputs: ModelInputs, options: {arrays: true}): Promise<Outputs>;
  dispose(): void;
  [Symbol.dispose](): void;
}

export class Tensors {
  readonly kind: 'tensors';
  readonly device: string;
  readonly tensors: {readonly [name: string]: Tensor};
  readonly metadata: {readonly [name: string]: string};
  dispose(): void;
  [Symbol.dispose](): void;
}

export interface StartOptions {
  /** What Emscripten wrote: its address, or its default export. Without it: the module of this package. */
  module?: string | URL | ((options: object) => Promise<object>);
  /** In a worker of its own (in a page: the default), or in this thread. */
  worker?: boolean;
  /** With threads: NAME.threads.js beside NAME.js. The default is whether the page is cross-origin isolated; others cannot have them. */
  threads?: boolean;
  /** "cpu" or "webgpu". */
  device?: string;
  /**
   * A module that has the device "webgpu": NAME.webgpu.js beside NAME.js, which is larger. The default is whether `device` is
   * "webgpu", and without a device whether the browser has WebGPU.
   */
  webgpu?: boolean;
  /** Further options of Emscripten's module. */
  options?: object;
}

export interface LoadOptions {
  /** Bytes so far, and in all where the server says it. */
  onProgress?: (progress: {loaded: number; total?: number}) => void;
  signal?: AbortSignal;
  device?: string | null;
  /** The first dimension of every input of an ONNX file is free, though the file says a size. */
  freeBatch?: boolean;
  /** What errors call the model. */
  name?: string;
}

export type Source = string | URL | Response | Blob | ArrayBuffer | TypedArray;

export class Kiln {
  static start(options?: StartOptions): Promise<Kiln>;
  /** `Kiln.load<Tensors>(...)` for a safetensors file without a program. */
  static load<Loaded extends Model | Tensors = Model>(source: Source, options?: LoadOptions & {start?: StartOptions}): Promise<Loaded>;
  load<Loaded extends Model | Tensors = Model>(source: Source, options?: LoadOptions): Promise<Loaded>;
  tensor(data: TypedArray | number[], shape?: number[], dtype?: DType | null): Promise<Tensor>;
  call<Result = unknown>(name: string, ...args: unknown[]): Promise<Result>;
  readonly functions: {[name: string]: (...args: any[]) => Promise<any>};
  useDevice(name: string): Promise<void>;
  device(): Promise<string>;
  memory(): Promise<{handles: number; bytes: number; peak: number}>;
  releaseMemory(): Promise<void>;
  close(): void;
  [Symbol.dispose](): void;
}

export default Kiln;
