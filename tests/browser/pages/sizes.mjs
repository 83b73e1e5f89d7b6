// The bytes that the page of digits waits for, by gzip: the module without WebGPU and threads, and the weights. Its JavaScript is reported.
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {SKIPPED} from './chromium.mjs';
import {options} from './support.mjs';

const MOST = 1.5e6;

const script = join(options.modules, 'digits.js');
const counted = [join(options.modules, 'digits.wasm'), join(options.source, 'examples/web/digits/digits.safetensors')];
const missing = [script, ...counted].find(file => !existsSync(file));
if (missing) {
  console.log(`SKIPPED: ${missing} is not built: ./dev build wasm makes it, with Emscripten`);
  process.exit(SKIPPED);
}
function packed(file) {
  const bytes = readFileSync(file), {length} = gzipSync(bytes, {level: 9});
  console.log(`${length} bytes of ${bytes.length}: ${file}`);
  return length;
}
packed(script);
const all = counted.map(packed).reduce((a, b) => a + b);
console.log(`module and weights: ${all} bytes, of at most ${MOST}`);
process.exit(all <= MOST ? 0 : 1);
