// What the tests of pages share: the server, a browser, and a list of cases that are run one after another.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Browser, SKIPPED, program} from './chromium.mjs';

/** Arguments as --name=value. */
export const options = Object.fromEntries(process.argv.slice(2).map(word => word.replace(/^--/, '').split('=')));

export function check(holds, ...parts) {
  if (!holds) throw new Error(parts.join(' '));
}

/** Ends the program where what it needs is missing, and says so. */
function requireAll(modules) {
  const skip = why => {
    console.log(`SKIPPED: ${why}`);
    process.exit(SKIPPED);
  };
  if (!program()) skip('there is no Chromium here (Debian: chromium); KILN_CHROMIUM names one');
  for (const module of modules)
    if (!existsSync(join(options.modules, `${module}.wasm`)))
      skip(`${options.modules}/${module}.wasm is not built: ./dev build wasm makes it, with Emscripten`);
}

class Server {
  static async start(...more) {
    const server = new Server();
    server.process = spawn(options.server, ['--port', '0', '--source', options.source, '--modules', options.modules, ...more],
        {stdio: ['ignore', 'pipe', 'inherit']});
    server.address = await new Promise((resolve, reject) => {
      let said = '';
      server.process.stdout.on('data', data => {
        said += data;
        const found = said.match(/http:\/\/\S+\//);
        if (found) resolve(found[0]);
      });
      server.process.on('exit', status => reject(new Error(`the server ended with ${status}: ${said}`)));
    });
    return server;
  }
  stop() { this.process.kill(); }
}

/** What ./dev build wasm makes of a page's C++. */
export const variants = name => [name, `${name}.threads`, `${name}.webgpu`, `${name}.webgpu.threads`];

/**
 * Runs the cases {name: async ({browser, address, folder}) => ...}, which take these modules; --only=NAME runs one. Returns by ending
 * the program.
 */
export async function run(cases, {modules, prepare = () => {}, serve = () => []}) {
  requireAll(modules);
  const folder = mkdtempSync(join(tmpdir(), 'kiln-pages-files-'));
  let failed = 0, passed = 0;
  await prepare(folder);
  const server = await Server.start('--models', folder, ...serve());
  for (const [name, test] of Object.entries(cases)) {
    if (options.only && options.only !== name) continue;
    const begun = Date.now(), browser = await Browser.start(test.flags);
    try {
      await test({browser, address: server.address, folder});
      ++passed;
      console.log(`ok   ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      ++failed;
      console.log(`FAIL ${name}: ${error.message}`);
    } finally {
      await browser.close();
    }
  }
  server.stop();
  rmSync(folder, {recursive: true, force: true});
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}
