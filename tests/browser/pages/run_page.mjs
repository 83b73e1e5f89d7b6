// Runs a program that Emscripten made as a page of headless Chromium, prints what it prints, and ends as it ends:
//
//   run_page.mjs [--no-jspi] [--no-gpu] [--no-webgpu] [--isolated] [--env=NAME=TEXT]... [--file=PATH]... MODULE.js [ARGUMENTS...]
//
// --no-gpu: a browser that lends none; --no-webgpu: one without navigator.gpu; --isolated: a module with threads, in a page that
// may have them. A --file lies, by its name, where the program starts. Ends with 77, which ctest takes for skipped, where there is
// no Chromium.
import {existsSync, readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {basename, dirname, extname, join, normalize} from 'node:path';
import {parseArgs} from 'node:util';
import {Browser, NO_WEBGPU, SKIPPED, WEBGPU, pause, program} from './chromium.mjs';

const SECONDS = 570;  // less than the tests' own limit, which says nothing

/** What the page runs. main() runs by Module.kilnCall, which lets it wait for the GPU; in a module with threads it runs in one of
 * them by itself, and tells its end by onExit. */
function startProgram(given) {
  if (given.noWebgpu) Object.defineProperty(Navigator.prototype, 'gpu', {value: undefined});
  if (given.noJspi) {
    delete WebAssembly.Suspending;
    delete WebAssembly.promising;
  }
  const lines = globalThis.lines = [];
  new Promise((end, fail) => {
    const start = async module => {
      if (given.threads) return;
      try {
        const names = ['./program', ...given.words].map(word => module.stringToNewUTF8(word));
        const words = module._malloc(4 * (names.length + 1));
        module.HEAPU32.set([...names, 0], words / 4);
        end(await module.kilnCall('__main_argc_argv', names.length, words));
      } catch (error) {
        if (error?.name === 'ExitStatus') end(error.status);
        else fail(error);
      }
    };
    globalThis.Module = {
      arguments: given.words,
      print: line => lines.push(line),
      printErr: line => lines.push(line),
      preRun: [module => {
        Object.assign(module.ENV, given.environment);
        for (const [name, text] of Object.entries(given.files))
          module.FS.writeFile(name, Uint8Array.from(atob(text), letter => letter.charCodeAt(0)));
      }],
      onRuntimeInitialized() { start(globalThis.Module); },
      onExit: end,
      onAbort: fail,
      noInitialRun: !given.threads,
    };
    const script = document.createElement('script');
    script.src = given.module;
    script.onerror = () => fail(new Error(`${given.module} cannot be loaded`));
    document.head.append(script);
  }).then(code => { globalThis.ended = {code: code ?? 0}; },
      error => { globalThis.ended = {code: 1, error: String(error?.stack ?? error)}; });
}

/** Serves a folder's files, and an empty page at '/'. Returns the server's address. */
function serve(folder, isolated) {
  const types = {'.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm'};
  const headers = isolated ? {'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp'} : {};
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const answer = (status, type, body) =>
      response.writeHead(status, {...headers, 'Cache-Control': 'no-store', 'Content-Type': type}).end(body);
    if (path === '/') return answer(200, 'text/html', '<!doctype html><title>a program</title><link rel="icon" href="data:,">');
    try {
      return answer(200, types[extname(path)] ?? 'application/octet-stream', readFileSync(join(folder, normalize(path))));
    } catch (error) {
      return answer(404, 'text/plain', error.message);
    }
  });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(`http://localhost:${server.address().port}/`));
  });
}

/** Prints what the program prints until it has ended, and returns its exit status. */
async function follow(page) {
  for (;;) {
    const [lines, ended] = await page.evaluate('[lines.splice(0), globalThis.ended ?? null]');
    for (const line of lines) console.log(line);
    const {errors} = page;
    if (ended || errors.length) {
      for (const error of errors) console.log(`not caught: ${error}`);
      if (ended?.error) console.log(ended.error);
      return ended?.code || (errors.length ? 1 : 0);
    }
    await pause(100);
  }
}

async function run(module, words, options) {
  const given = {
    module: basename(module),
    words,
    threads: options.isolated,
    noJspi: options['no-jspi'],
    noWebgpu: options['no-webgpu'],
    environment: Object.fromEntries(options.env.map(each => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)])),
    files: Object.fromEntries(options.file.map(path => [basename(path), readFileSync(path, 'base64')])),
  };
  const address = await serve(dirname(module), options.isolated);
  const browser = await Browser.start(options['no-gpu'] ? NO_WEBGPU : WEBGPU);
  try {
    const page = await browser.page(address);
    await page.becomes(`location.href === '${address}' && document.readyState === 'complete'`);
    await page.evaluate(`(${startProgram})(${JSON.stringify(given)})`);
    const late = pause(1000 * SECONDS).then(() => { throw new Error(`the program did not end in ${SECONDS} s`); });
    return await Promise.race([follow(page), late]);
  } finally {
    await browser.close();
  }
}

const flag = {type: 'boolean', default: false}, list = {type: 'string', multiple: true, default: []};
// What follows the module is the program's own.
const at = process.argv.findIndex((word, i) => i >= 2 && !word.startsWith('--'));
const {values} = parseArgs({
  args: process.argv.slice(2, at < 0 ? undefined : at),
  options: {'no-jspi': flag, 'no-gpu': flag, 'no-webgpu': flag, isolated: flag, env: list, file: list},
});
if (at < 0) throw new Error('run_page.mjs [OPTIONS] MODULE.js [ARGUMENTS...]');
if (!program()) {
  console.log('SKIPPED: there is no Chromium here (Debian: chromium); KILN_CHROMIUM names one');
  process.exit(SKIPPED);
}
if (!existsSync(process.argv[at])) throw new Error(`${process.argv[at]} is not there`);
process.exit(await run(process.argv[at], process.argv.slice(at + 1), values).catch(error => {
  console.log(error.message);
  return 1;
}));
