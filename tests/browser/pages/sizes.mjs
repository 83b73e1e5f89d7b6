// What a visitor of the page of digits downloads, by gzip: the module without WebGPU and threads, its JavaScript and the weights.
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {SKIPPED} from './chromium.mjs';
import {options} from './support.mjs';

const MOST = 1.5e6;

const files = [join(options.modules, 'digits.wasm'), join(options.modules, 'digits.js'),
  join(options.source, 'examples/web/digits/digits.safetensors')];
const missing = files.find(file => !existsSync(file));
if (missing) {
  console.log(`SKIPPED: ${missing} is not built: ./dev build wasm makes it, with Emscripten`);
  process.exit(SKIPPED);
}
let all = 0;
for (const file of files) {
  const bytes = readFileSync(file), packed = gzipSync(bytes, {level: 9}).length;
  console.log(`${packed} bytes of ${bytes.length}: ${file}`);
  all += packed;
}
console.log(`${all} bytes in all, of at most ${MOST}`);
process.exit(all <= MOST ? 0 : 1);
