// Files on their way into the module's memory.
import {KilnError} from './errors.js';

/** The name of a file for errors: what follows the last '/' of its address. */
export function nameOf(source) {
  if (typeof source === 'string' || source instanceof URL)
    return decodeURIComponent(String(source).split(/[?#]/)[0].split('/').pop()) || String(source);
  return source?.name ?? 'the model';
}

async function open(source, signal) {
  let response;
  try {
    response = await fetch(source, {signal});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new KilnError('IoError', `${source}: the file could not be fetched (${error.message}): is the server there?`,
        {cause: error});
  }
  if (!response.ok)
    throw new KilnError('IoError', `${source}: the server answered ${response.status} ${response.statusText}`);
  return response;
}

/**
 * Reads an address, a Response, a Blob or bytes, and returns an item: a block in the module's memory. `onProgress` is told
 * {loaded, total} in bytes; `total` is undefined where the server does not say.
 */
export async function download(source, memory, {onProgress, signal} = {}) {
  signal?.throwIfAborted();
  if (source instanceof ArrayBuffer) source = new Uint8Array(source);
  if (ArrayBuffer.isView(source)) {
    const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    const address = memory.allocate(bytes.length);
    memory.bytes().set(bytes, address);
    return {$: 'block', address, bytes: bytes.length};
  }
  if (source instanceof Blob) source = new Response(source, {headers: {'Content-Length': source.size}});
  if (!(source instanceof Response)) source = await open(source, signal);
  // A length of what is compressed on the way says nothing.
  const said = source.headers.get('Content-Encoding') ? NaN : Number(source.headers.get('Content-Length') ?? NaN);
  const total = Number.isFinite(said) ? said : undefined;

  const block = new Block(memory, total ?? 1 << 16);
  try {
    const reader = source.body?.getReader();
    for (let part; reader && !(part = await reader.read()).done;) {
      signal?.throwIfAborted();
      block.append(part.value);
      onProgress?.({loaded: block.length, total});
    }
    if (total !== undefined && block.length !== total)
      throw new KilnError('IoError', `the file has ${block.length} bytes of the ${total} that it should: it was cut`);
    return {$: 'block', address: block.address, bytes: block.length};
  } catch (error) {
    memory.free(block.address);
    if (error instanceof KilnError || signal?.aborted) throw error;
    throw new KilnError('IoError', `the file was cut on its way (${error.message}): try again`, {cause: error});
  }
}

/** Bytes in the module's memory that grow. */
class Block {
  constructor(memory, room) {
    this.memory = memory;
    this.room = room;
    this.length = 0;
    this.address = memory.allocate(room);
  }
  append(bytes) {
    if (this.length + bytes.length > this.room) {
      const room = 2 * (this.length + bytes.length), address = this.memory.allocate(room);
      this.memory.bytes().copyWithin(address, this.address, this.address + this.length);
      this.memory.free(this.address);
      Object.assign(this, {room, address});
    }
    this.memory.bytes().set(bytes, this.address + this.length);
    this.length += bytes.length;
  }
}
