// The page of a server's device, driven in Chromium: it connects, reads and trains there, and says what went wrong.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {pause} from './chromium.mjs';
import {check, options, run} from './support.mjs';

const TOKEN = 'a-token';

/** A server that lends this machine's processor. */
class Host {
  static async start(...more) {
    const host = new Host();
    host.process = spawn(options.kiln, ['host', '--device', 'cpu', '--port', '0', '--token', TOKEN, ...more], {stdio: ['ignore', 'pipe', 'inherit']});
    host.port = await new Promise((resolve, reject) => {
      let said = '';
      host.process.stdout.on('data', data => {
        said += data;
        const found = said.match(/127\.0\.0\.1:(\d+);/);
        if (found) resolve(found[1]);
      });
      host.process.on('exit', status => reject(new Error(`the host ended with ${status}: ${said}`)));
    });
    return host;
  }
  /** The lines of /metrics that count. */
  async count(name) {
    const text = await (await fetch(`http://127.0.0.1:${this.port}/metrics?token=${encodeURIComponent(TOKEN)}`)).text();
    return Number(text.match(new RegExp(`^${name}(?:\\{[^\\n]*\\})? (\\d+)`, 'm'))?.[1] ?? 0);
  }
  async stop(signal = 'SIGKILL') {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, 'exit');
    this.process.kill(signal);
    await gone;
  }
}

/** Runs a test with a host that takes the pages of this server. */
const withHost = test => async given => {
  const host = await Host.start('--origin', new URL(given.address).origin);
  try {
    await test({...given, host});
  } finally {
    await host.stop();
  }
};

async function open({browser, address}, look) {
  const page = await browser.page(address + 'remote/', look);
  await page.becomes('document.documentElement.dataset.ready === "yes"');
  return page;
}
const enter = (page, address, token = TOKEN) => page.evaluate(`(() => {
  document.getElementById('address').value = ${JSON.stringify(address)};
  document.getElementById('token').value = ${JSON.stringify(token)};
  document.getElementById('connect').click();
})()`);
const becomes = (page, state, seconds) => page.becomes(`document.documentElement.dataset.server === ${JSON.stringify(state)}`, seconds);
const hasError = async (page, ...words) => {
  await page.becomes('document.getElementById("error").textContent', 40);
  const error = await page.text('error');
  console.log(`     ${error}`);
  for (const word of words) check(error.includes(word), `'${word}' is missing in: ${error}`);
  await becomes(page, 'none', 40);
  check(await page.evaluate('document.getElementById("work").hidden && !document.getElementById("connect").disabled'),
      'it cannot be connected again');
};

/** A one: a line down the middle, by keys. `read` is what the page has to read. */
async function drawOne(page, read = '=== "1"') {
  await page.evaluate('document.getElementById("drawing").focus()');
  await page.key('Delete');
  for (let i = 0; i < 8; ++i) await page.key('ArrowUp');
  await page.key(' ');
  for (let i = 0; i < 16; ++i) await page.key('ArrowDown');
  await page.key(' ');
  await page.becomes(`document.getElementById("reading").dataset.digit ${read}`);
}

const trainsThere = withHost(async ({browser, address, host}) => {
  const page = await open({browser, address});
  check((await page.text('command')).endsWith(`--origin ${new URL(address).origin}`), await page.text('command'));
  await enter(page, `127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
  check(await page.text('server') === `connected with cpu at 127.0.0.1:${host.port}`, await page.text('server'));
  await drawOne(page);
  const before = await host.count('kiln_host_session_calls_total');
  check(before > 0, 'nothing was computed there');
  await page.evaluate('document.getElementById("train").click()');
  await page.becomes('Number(document.getElementById("state").dataset.accuracy) >= 0.9', 200);
  await page.evaluate('document.getElementById("stop").click()');
  await page.becomes('document.getElementById("state").textContent.includes("it reads your digit now")', 120);
  console.log(`     ${await page.text('state')}; ${await page.text('traffic')}`);
  check(await host.count('kiln_host_session_calls_total') > before + 1000, 'it did not train there');
  await drawOne(page, '!== ""');  // by the network that was trained there, which has seen other ones
  if (options.screenshots) await page.screenshot(`${options.screenshots}/remote.png`);
  await page.evaluate('document.getElementById("leave").click()');
  await becomes(page, 'none');
  for (let i = 0; await host.count('kiln_host_sessions') > 0; ++i) {
    check(i < 50, 'its session lives on');
    await pause(100);
  }
  check(await page.text('error') === '', await page.text('error'));
  check(page.errors.length === 0, page.errors.join('\n'));
});

const isUsedByKeys = withHost(async ({browser, address, host}) => {
  const page = await open({browser, address}, {width: 390, height: 844, phone: true, dark: true});
  const isNarrow = () => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
  check(await isNarrow(), 'the page is wider than a phone');
  await page.evaluate('document.getElementById("address").focus(); document.getElementById("address").select()');
  await page.call('Input.insertText', {text: `127.0.0.1:${host.port}`});
  await page.key('Tab');
  check(await page.evaluate('document.activeElement.id') === 'token', 'Tab does not lead to the token');
  await page.call('Input.insertText', {text: TOKEN});
  await page.key('Enter', {code: 'Enter', text: '\r', windowsVirtualKeyCode: 13});
  await becomes(page, 'connected');
  await drawOne(page);
  check(await isNarrow(), 'the page is wider than a phone once it is connected');
  if (options.screenshots) await page.screenshot(`${options.screenshots}/remote-phone.png`);
});

const refusesAWrongToken = withHost(async ({browser, address, host}) => {
  const page = await open({browser, address});
  await enter(page, `127.0.0.1:${host.port}`, 'another');
  await hasError(page, 'the server does not take this token');
  await enter(page, `127.0.0.1:${host.port}`, '');
  await page.becomes('document.getElementById("error").textContent.includes("asks for a token")');
  await enter(page, `127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
});

async function saysThatThereIsNoServer({browser, address}) {
  const page = await open({browser, address});
  await enter(page, '127.0.0.1:1');
  await hasError(page, 'ws://127.0.0.1:1/session', 'nobody listens there');
  for (const wrong of ['', ' ', 'host:port', 'a b:3000', '127.0.0.1:70000', 'http://127.0.0.1:3000']) {
    await page.evaluate('document.getElementById("error").textContent = ""');
    await page.evaluate('document.getElementById("address").required = false');
    await enter(page, wrong);
    await hasError(page, 'is no address');
  }
  // The server of pages is one of HTTP, and no host.
  await page.evaluate('document.getElementById("error").textContent = ""');
  await enter(page, new URL(address).host);
  await hasError(page, 'gives no WebSocket');
}

async function isNotTakenFromElsewhere({browser, address}) {
  const host = await Host.start('--origin', 'http://kiln.example');
  try {
    const page = await open({browser, address});
    await enter(page, `127.0.0.1:${host.port}`);
    await hasError(page, `takes no pages of ${new URL(address).origin}`);
    check(await host.count('kiln_host_sessions') === 0, 'there is a session');
  } finally {
    await host.stop();
  }
}

const losesItsServer = withHost(async ({browser, address, host}) => {
  const page = await open({browser, address});
  await enter(page, `127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
  await page.evaluate('document.getElementById("train").click()');
  await page.becomes('document.getElementById("state").textContent.startsWith("step")');
  await host.stop();
  await hasError(page, `127.0.0.1:${host.port}`, 'the tensors there are lost');
  check(page.errors.length === 0, page.errors.join('\n'));
  const again = await Host.start('--origin', new URL(address).origin);
  try {
    await enter(page, `127.0.0.1:${again.port}`);
    await becomes(page, 'connected');
    await drawOne(page);
  } finally {
    await again.stop();
  }
});

const hearsThatItsServerWasShutDown = withHost(async ({browser, address, host}) => {
  const page = await open({browser, address});
  await enter(page, `127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
  await host.stop('SIGTERM');
  await hasError(page, `the connection with 127.0.0.1:${host.port} was lost`);
});

const isLeftDuringATraining = withHost(async ({browser, address, host}) => {
  const page = await open({browser, address});
  await enter(page, `127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
  await page.evaluate('document.getElementById("train").click()');
  await page.becomes('document.getElementById("state").textContent.startsWith("step")');
  await page.call('Page.navigate', {url: 'about:blank'});
  await page.becomes('location.href === "about:blank"');
  for (let i = 0; (await browser.workers()).length > 0; ++i) {
    check(i < 100, 'its workers live on');
    await pause(100);
  }
  await page.call('Page.navigate', {url: address + 'remote/'});
  await page.becomes('document.documentElement.dataset.ready === "yes"');
  await enter(page, `127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
});

await run({trainsThere, isUsedByKeys, refusesAWrongToken, saysThatThereIsNoServer, isNotTakenFromElsewhere, losesItsServer,
  hearsThatItsServerWasShutDown, isLeftDuringATraining}, {modules: ['remote.threads']});
