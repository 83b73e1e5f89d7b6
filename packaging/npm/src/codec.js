// Items as bytes in the module's memory and back: the other half of kiln/browser/item.cpp, which has the format.
//
// An item is null, a boolean, a number, a string, an Array of items, a Map of items by name, a typed array, or one of
//   {$: 'tensor', handle, dtype, shape}   {$: 'object', handle, type}   {$: 'function', number}
//   {$: 'data', dtype, shape, array}      {$: 'block', address, bytes}  (bytes that lie in the module's memory already)
// All but blocks can be sent to another thread as they are.
import {KilnError} from './errors.js';

const encoder = new TextEncoder(), decoder = new TextDecoder();

const NULL = 0, FALSE = 1, TRUE = 2, NUMBER = 3, TEXT = 4, TENSOR = 5, DATA = 6, OBJECT = 7, CALLBACK = 8, LIST = 9, RECORD = 10;

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

/** The element type of a typed array, or undefined. */
export function dtypeOf(array) {
  if (array instanceof Uint8ClampedArray) return 'uint8';
  if (globalThis.Float16Array && array instanceof globalThis.Float16Array) return 'float16';
  for (const [dtype, type] of Object.entries(arrays)) if (array instanceof type) return dtype;
  return undefined;
}

/** The typed array whose elements are of that type. Bytes are copied, so that they are aligned and nobody's else. */
function typed(dtype, bytes) {
  const type = arrays[dtype];
  if (!type) throw new KilnError('DTypeError', `JavaScript has no typed array of ${dtype}`);
  return new type(bytes.slice().buffer);
}

class Writer {
  constructor(memory) {
    this.memory = memory;
    this.view = new DataView(new ArrayBuffer(256));
    this.at = 0;
    this.blocks = [];
  }
  room(bytes) {
    if (this.at + bytes <= this.view.byteLength) return;
    const larger = new Uint8Array(2 * (this.at + bytes));
    larger.set(new Uint8Array(this.view.buffer, 0, this.at));
    this.view = new DataView(larger.buffer);
  }
  tag(tag) {
    this.room(1);
    this.view.setUint8(this.at++, tag);
  }
  number(value) {
    this.room(8);
    this.view.setFloat64(this.at, value, true);
    this.at += 8;
  }
  text(value) {
    const letters = encoder.encode(value);
    this.number(letters.length);
    this.room(letters.length);
    new Uint8Array(this.view.buffer).set(letters, this.at);
    this.at += letters.length;
  }
  sizes(shape) {
    this.tag(LIST);
    this.number(shape.length);
    for (const size of shape) {
      this.tag(NUMBER);
      this.number(size);
    }
  }
  data(dtype, shape, address, bytes) {
    this.tag(DATA);
    this.text(dtype);
    this.sizes(shape);
    this.number(address);
    this.number(bytes);
  }
  array(array, dtype = dtypeOf(array), shape = [array.length]) {
    const address = this.memory.allocate(array.byteLength);
    this.blocks.push(address);
    this.memory.bytes().set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), address);
    this.data(dtype, shape, address, array.byteLength);
  }
  item(item) {
    if (item === null || item === undefined) this.tag(NULL);
    else if (typeof item === 'boolean') this.tag(item ? TRUE : FALSE);
    else if (typeof item === 'number') { this.tag(NUMBER); this.number(item); }
    else if (typeof item === 'string') { this.tag(TEXT); this.text(item); }
    else if (Array.isArray(item)) {
      this.tag(LIST);
      this.number(item.length);
      for (const each of item) this.item(each);
    } else if (item instanceof Map) {
      this.tag(RECORD);
      this.number(item.size);
      for (const [name, each] of item) {
        this.text(name);
        this.item(each);
      }
    } else if (item instanceof ArrayBuffer) this.array(new Uint8Array(item));
    else if (ArrayBuffer.isView(item)) this.array(item);
    else this.special(item);
  }
  special(item) {
    switch (item.$) {
      case 'tensor': this.tag(TENSOR); return this.number(item.handle);
      case 'object': this.tag(OBJECT); return this.number(item.handle);
      case 'function': this.tag(CALLBACK); return this.number(item.number);
      case 'data': return this.array(item.array, item.dtype, item.shape);
      case 'block':
        this.blocks.push(item.address);
        return this.data('uint8', [item.bytes], item.address, item.bytes);
      default: throw new TypeError('this is no item');
    }
  }
}

/**
 * Gives the item's bytes to `use`, and returns what it returns. `memory` is the module's; what is allocated there belongs to
 * whoever reads the bytes, and is freed where `use` throws.
 */
export function write(item, memory, use) {
  const writer = new Writer(memory);
  try {
    writer.item(item);
    return use(new Uint8Array(writer.view.buffer, 0, writer.at));
  } catch (error) {
    for (const address of writer.blocks) memory.free(address);
    throw error;
  }
}

class Reader {
  constructor(bytes, memory) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.memory = memory;
    this.at = 0;
  }
  number() {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }
  text() {
    const length = this.number();
    this.at += length;
    return decoder.decode(new Uint8Array(this.view.buffer, this.view.byteOffset + this.at - length, length));
  }
  list() {
    const items = new Array(this.number());
    for (let i = 0; i < items.length; ++i) items[i] = this.item();
    return items;
  }
  item() {
    switch (this.view.getUint8(this.at++)) {
      case NULL: return null;
      case FALSE: return false;
      case TRUE: return true;
      case NUMBER: return this.number();
      case TEXT: return this.text();
      case TENSOR: return {$: 'tensor', handle: this.number(), dtype: this.text(), shape: this.item()};
      case OBJECT: return {$: 'object', handle: this.number(), type: this.text()};
      case CALLBACK: return {$: 'function', number: this.number()};
      case LIST: return this.list();
      case DATA: {
        const dtype = this.text();
        this.item();  // the sizes: a typed array has none
        const address = this.number(), bytes = this.number();
        try {
          return typed(dtype, this.memory.bytes().subarray(address, address + bytes));
        } finally {
          this.memory.free(address);
        }
      }
      case RECORD: {
        const fields = new Map();
        for (let left = this.number(); left > 0; --left) fields.set(this.text(), this.item());
        return fields;
      }
      default: throw new TypeError('the answer is damaged');
    }
  }
}

/** The handles of all tensors and objects in an item. */
export function handlesOf(item) {
  if (Array.isArray(item)) return item.flatMap(handlesOf);
  if (item instanceof Map) return [...item.values()].flatMap(handlesOf);
  return item?.$ === 'tensor' || item?.$ === 'object' ? [item.handle] : [];
}

/** The item that the bytes are; they are the caller's own, not the module's. */
export function read(bytes, memory) {
  return new Reader(bytes, memory).item();
}
