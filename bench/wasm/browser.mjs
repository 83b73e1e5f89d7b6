// `./dev bench wasm` in headless Chromium: networks by Kiln's package beside ONNX Runtime Web, in pages that are isolated.
//
//   browser.mjs --modules=FOLDER --ort=FOLDER [--seconds=N] [--turns=N] [--device=webgpu] [--where=page,worker,apart]
//              [--threads=1,2] FILE.onnx...
//
// `page`: both compute on the page's own thread; `worker`: both in one worker; `apart`: the page calls them, and each computes in a
// worker that it has started. Prints a line of JSON for each network, place, number of threads and library.
import {createReadStream, existsSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {basename, extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {Browser, SKIPPED, WEBGPU, program} from '../../tests/browser/pages/chromium.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm'};

const {values: options, positionals: files} = parseArgs({
  allowPositionals: true,
  options: {
    modules: {type: 'string'}, ort: {type: 'string'}, device: {type: 'string', default: 'cpu'}, seconds: {type: 'string', default: '3'},
    where: {type: 'string', default: 'page,worker,apart'}, threads: {type: 'string', default: '1,2'}, turns: {type: 'string', default: '4'},
  },
});

/** What lies below an address. */
const FOLDERS = {
  kiln: join(HERE, '../../packaging/npm'),
  modules: options.modules,
  ort: options.ort,
  bench: HERE,
};
function fileAt(path) {
  const [, folder, ...rest] = path.split('/');
  if (folder === 'networks') return files.find(file => basename(file) === rest[0]);
  return FOLDERS[folder] && !rest.includes('..') ? join(FOLDERS[folder], ...rest) : undefined;
}

function serve(request, answer) {
  const {pathname} = new URL(request.url, 'http://localhost'), file = fileAt(decodeURIComponent(pathname));
  answer.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  answer.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
  if (pathname === '/') return answer.setHeader('Content-Type', 'text/html').end('<!doctype html><title>bench</title>');
  if (!file || !existsSync(file) || !statSync(file).isFile()) return answer.writeHead(404).end();
  answer.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
  createReadStream(file).pipe(answer);
}

async function rowsOf(address, wish, where) {
  const browser = await Browser.start(wish.device === 'webgpu' ? WEBGPU : []);
  try {
    const page = await browser.page(address);
    await page.becomes('document.readyState === "complete" && location.href !== "about:blank"');
    const asked = JSON.stringify({...wish, way: where === 'apart' ? 'apart' : 'here'});
    return await page.evaluate(where === 'worker' ? `new Promise((resolve, reject) => {
      const worker = new Worker('/bench/measure.mjs', {type: 'module'});
      worker.onmessage = ({data}) => data.error ? reject(new Error(data.error)) : resolve(data.rows);
      worker.onerror = event => reject(new Error(event.message));
      worker.postMessage(${asked});
    })` : `import('/bench/measure.mjs').then(({measure}) => measure(${asked}))`);
  } finally {
    await browser.close();
  }
}

if (!program()) {
  console.log('SKIPPED: there is no Chromium here (Debian: chromium); KILN_CHROMIUM names one');
  process.exit(SKIPPED);
}
const server = createServer(serve);
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${server.address().port}/`;
for (const where of options.where.split(','))
  // A page's own thread must not wait for others, and a GPU has no threads of the processor's.
  for (const threads of where === 'page' || options.device === 'webgpu' ? [1] : options.threads.split(',').map(Number))
    for (const row of await rowsOf(address, {
      files: files.map(file => basename(file)), threads, seconds: Number(options.seconds), turns: Number(options.turns),
      device: options.device,
    }, where))
      console.log(JSON.stringify({where, ...row}));
server.close();
