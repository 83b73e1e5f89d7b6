// Files on their way into the module's memory.
import {KilnError} from './errors.js';

/** The name of a file for errors: what follows the last '/' of its address. */
export function nameOf(source) {
  if (typeof source === 'string' || source instanceof URL) {
    const last = String(source).split(/[?#]/)[0].split('/').pop();
    try {
      return decodeURIComponent(last) || String(source);
    } catch {
      return last;  // a '%' that begins no letter
    }
  }
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
  return response;
}

function check({ok, status, statusText, url}, source) {
  if (!ok) throw new KilnError('IoError', `${url || source}: the server answered ${status} ${statusText}`);
}

/** How many bytes a response will have; undefined where it does not say. A length of what is compressed on the way says nothing. */
function sizeOf(response) {
  const length = response.headers.get('Content-Length');
  return length === null || response.headers.get('Content-Encoding') || !Number.isFinite(+length) ? undefined : +length;
}

const cut = error => new KilnError('IoError', `the file was cut on its way (${error.message}): try again`, {cause: error});

/** A Response, which cannot be sent to another thread, as a source for `download` that can. */
export async function sendable(response) {
  check(response, 'the response');
  try {
    return {blob: await response.blob(), size: sizeOf(response)};
  } catch (error) {
    throw cut(error);
  }
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
  let response = source, total;
  if (source instanceof Blob) source = {blob: source, size: source.size};
  if (source.blob instanceof Blob) {
    response = new Response(source.blob);
    total = source.size;
  } else {
    if (!(source instanceof Response)) response = await open(source, signal);
    check(response, source);
    total = sizeOf(response);
  }

  const block = new Block(memory, total ?? 1 << 16), reader = response.body?.getReader();
  const next = () => reader.read().catch(error => { throw signal?.aborted ? error : cut(error); });
  try {
    for (let part; reader && !(part = await next()).done;) {
      signal?.throwIfAborted();
      block.append(part.value);
      onProgress?.({loaded: block.length, total});
    }
    if (total !== undefined && block.length !== total)
      throw new KilnError('IoError', `the file has ${block.length} bytes of the ${total} that it should: it was cut`);
    return {$: 'block', address: block.address, bytes: block.length};
  } catch (error) {
    memory.free(block.address);
    reader?.cancel().catch(() => {});  // the rest is not needed
    throw error;
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
