// A module in which WebAssembly breaks off, in Node and in a page: the call is rejected with a sentence, all later ones too, nothing
// hangs, and another module starts.
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {check, options, run} from './support.mjs';

/** In Node and in a page: what becomes of a call, as text. */
async function call({index, module, worker, name, kind}) {
  const {Kiln} = await import(index);
  const told = error => `${error.constructor.name} ${error.kind}: ${error.message}`;
  const kiln = await Kiln.start({module, worker, threads: true, webgpu: false});
  const lines = [`sound ${await kiln.call('sound', 1)}`];
  lines.push(await kiln.call(name, kind).then(() => 'returned', told));
  if (name === 'beside') await new Promise(resolve => setTimeout(resolve, 500));
  lines.push(await kiln.call('sound', 1).then(() => 'sound after all', told));
  kiln.close();
  const another = await Kiln.start({module, worker, threads: true, webgpu: false});
  lines.push(`another ${await another.call('sound', 2)}`);
  another.close();
  return lines;
}

function checkLines(name, kind, lines) {
  const [before, broke, after, another] = lines;
  console.log(`     ${name} ${kind}: ${broke}`);
  check(before === 'sound 2' && another === 'another 3', lines.join('\n'));
  if (name === 'beside') check(broke === 'returned', broke);
  else check(broke.startsWith(`KilnError FatalError: Kiln's module ended in '${name}' (`) && !broke.includes('(unwind)'), broke);
  check(after.startsWith('KilnError FatalError: '), after);
}

const CASES = [['here', 'unreachable'], ['here', 'overflow'], ['here', 'address'], ['here', 'abort'], ['here', 'terminate'],
  ['in_a_thread', 'unreachable'], ['in_a_thread', 'overflow'], ['in_a_thread', 'address'], ['in_a_thread', 'abort'],
  ['in_a_team', 'unreachable'], ['in_a_team', 'overflow'], ['in_a_team', 'address'], ['beside', 'unreachable']];

/** Each in a process of its own, which has to end by itself, and well. */
async function inNode({folder}) {
  for (const [name, kind] of CASES) {
    const given = {index: `file://${join(options.source, 'packaging/npm/index.js')}`, module: `file://${join(options.modules, 'faults.js')}`, worker: false, name, kind};
    const program = `console.log(JSON.stringify(await (${call})(${JSON.stringify(given)}))); process.exit(0);`;
    const file = join(folder, 'program.mjs');  // `node -e` would start its threads as it was started itself
    writeFileSync(file, program);
    const said = execFileSync(process.execPath, [file], {encoding: 'utf8', timeout: 60000, stdio: ['ignore', 'pipe', 'ignore']});
    checkLines(name, kind, JSON.parse(said.trim().split('\n').at(-1)));
  }
}

async function inAPage({browser, address}) {
  const page = await browser.page(address);
  await page.becomes('document.readyState === "complete"');
  for (const [name, kind] of CASES) {
    const given = {index: `${address}kiln/index.js`, module: `${address}modules/faults.js`, worker: true, name, kind};
    checkLines(name, kind, await page.evaluate(`(${call})(${JSON.stringify(given)})`));
  }
}

await run({inNode, inAPage}, {modules: ['faults.threads']});
