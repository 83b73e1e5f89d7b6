// The page of a server's device, driven in Chromium: it connects, reads and trains there, and says what went wrong.
import {execFileSync, spawn} from 'node:child_process';
import {once} from 'node:events';
import {connect, createServer} from 'node:net';
import {join} from 'node:path';
import {pause} from './chromium.mjs';
import {check, options, run} from './support.mjs';

const TOKEN = 'a-token';

/** A server that lends this machine's processor. */
class Host {
  static start(...more) { return Host.startOpen('--token', TOKEN, ...more); }
  /** One that asks for no token, unless it is told to. */
  static async startOpen(...more) {
    const host = new Host();
    const port = more.includes('--port') ? [] : ['--port', '0'];
    host.process = spawn(options.kiln, ['host', '--device', 'cpu', ...port, ...more], {stdio: ['ignore', 'pipe', 'inherit']});
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

/** A network between the page and a server that breaks when it is told to. */
class Proxy {
  #lines = new Set();
  /** Whether connections are closed as soon as they come. */
  refuses = false;
  connections = 0;

  static async start(port) {
    const proxy = new Proxy();
    proxy.server = createServer(near => proxy.#join(near, port)).listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.port = proxy.server.address().port;
    return proxy;
  }
  #join(near, port) {
    ++this.connections;
    if (this.refuses) return near.destroy();
    const far = connect(port, '127.0.0.1'), line = {near, far};
    this.#lines.add(line);
    for (const [from, to] of [[near, far], [far, near]]) {
      from.on('error', () => {});
      from.on('close', () => {
        to.destroy();
        this.#lines.delete(line);
      });
      from.on('data', data => this.#pass(data, to));
    }
  }
  #pass(data, to) {
    if (this.left === undefined || this.left >= data.length) {
      if (this.left !== undefined) this.left -= data.length;
      return to.write(data);
    }
    const part = data.subarray(0, this.left);
    this.left = undefined;
    to.write(part, () => this.drop());
  }
  /** Breaks all connections once so many bytes more have passed, which is in the middle of a message. */
  dropAfter(bytes) { this.left = bytes; }
  drop() {
    for (const {near, far} of this.#lines) {
      near.destroy();
      far.destroy();
    }
  }
  stop() {
    this.drop();
    this.server.close();
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

async function open({browser, address}, look, query = '') {
  const page = await browser.page(address + 'remote/' + query, look);
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

const stepOf = async page => Number((await page.text('state')).match(/^step (\d+)/)?.[1] ?? 0);

const connectsAgain = withHost(async ({browser, address, host}) => {
  const proxy = await Proxy.start(host.port), page = await open({browser, address}, {}, '?epochs=9');
  try {
    await enter(page, `127.0.0.1:${proxy.port}`);
    await becomes(page, 'connected');
    await page.evaluate('document.getElementById("train").click()');
    await page.becomes('document.getElementById("state").textContent.startsWith("step")');
    for (const [i, breakIt] of [() => proxy.dropAfter(10_001), () => proxy.drop()].entries()) {
      const step = await stepOf(page);
      breakIt();
      await page.becomes(`document.getElementById("traffic").textContent.includes("${i + 1} times connected again")`, 20);
      await page.becomes(`Number(document.getElementById("state").textContent.match(/^step (\\d+)/)[1]) > ${step + 5}`, 60);
    }
    // Nobody is there for some seconds, which are fewer than the window has.
    proxy.refuses = true;
    proxy.drop();
    const {connections} = proxy;
    for (let i = 0; proxy.connections < connections + 3; ++i) {
      check(i < 100, 'it does not dial again');
      await pause(100);
    }
    proxy.refuses = false;
    await page.becomes('document.getElementById("traffic").textContent.includes("3 times connected again")', 20);
    const step = await stepOf(page);
    await page.becomes(`Number(document.getElementById("state").textContent.match(/^step (\\d+)/)[1]) > ${step + 5}`, 60);
    console.log(`     ${await page.text('state')}; ${await page.text('traffic')}; ${proxy.connections} connections`);
    await drawOne(page);  // by the weights that were sent before the first break
    check(await host.count('kiln_host_sessions') === 1, 'it is another session');
    check(await page.text('error') === '', await page.text('error'));
    check(page.errors.length === 0, page.errors.join('\n'));
  } finally {
    proxy.stop();
  }
});

/** A host that speaks TLS, with a certificate that nobody has signed but itself. */
async function withTls({browser, address, folder}, test) {
  const key = join(folder, 'key.pem'), certificate = join(folder, 'certificate.pem');
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1',
    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate], {stdio: 'ignore'});
  const host = await Host.start('--origin', new URL(address).origin, '--certificate', certificate, '--key', key);
  try {
    await test(await open({browser, address}), host);
  } finally {
    await host.stop();
  }
}

const speaksTls = given => withTls(given, async (page, host) => {
  await enter(page, `127.0.0.1:${host.port}`);
  await hasError(page, 'gives no WebSocket');  // as it speaks without TLS
  await page.evaluate('document.getElementById("error").textContent = ""');
  await enter(page, `tls:127.0.0.1:${host.port}`);
  await becomes(page, 'connected');
  await drawOne(page);
  const [, calls] = (await page.text('traffic')).match(/^(\d+) operations/);
  check(Number(calls) > 0, 'nothing was computed there');
  check(await page.text('error') === '', await page.text('error'));
});
speaksTls.flags = ['--ignore-certificate-errors'];

const trustsNoUnknownCertificate = given => withTls(given, async (page, host) => {
  await enter(page, `tls:127.0.0.1:${host.port}`);
  await hasError(page, `wss://127.0.0.1:${host.port}/session`, 'its certificate is none that this browser trusts');
});

/** Without the page's C++: the device is asked for by its name. */
async function isADeviceByName({browser, address}) {
  const origin = new URL(address).origin;
  let host = await Host.startOpen('--origin', origin);
  try {
    const page = await browser.page(address);
    await page.becomes('document.readyState === "complete"');
    const name = `remote:127.0.0.1:${host.port}`;
    const said = await page.evaluate(`(async () => {
      const {Kiln} = await import('${address}kiln/index.js');
      globalThis.begin = more => Kiln.start({module: '${address}modules/remote.js', worker: true, ...more});
      const kiln = globalThis.kiln = await begin();
      const read = async () => {
        const weights = new Uint8Array(await (await fetch('${address}digits/digits.safetensors')).arrayBuffer());
        const reader = await kiln.functions.reader(weights, 'digits.safetensors');
        const picture = Float32Array.from({length: 784}, (_, i) => i % 28 > 11 && i % 28 < 16 && i > 140 && i < 640 ? 1 : 0);
        return (await kiln.functions.read(reader, {data: picture, shape: [28, 28]})).probabilities;
      };
      const here = await read();
      await kiln.useDevice('${name}');
      globalThis.held = await kiln.tensor([1, 2, 3]);
      return {device: await kiln.device(), data: [...await held.data()], here, there: await read()};
    })()`);
    check(said.device === name, said.device);
    check(said.data.join() === '1,2,3', said.data);
    check(said.here.length === 10 && said.here.every((each, i) => Math.abs(each - said.there[i]) < 1e-5), said.here, 'here, and there', said.there);
    check(await host.count('kiln_host_session_calls_total') > 5, 'nothing was computed there');

    // A server that was started anew has none of the tensors; the name means a new session then.
    const {port} = host;
    await host.stop();
    host = await Host.startOpen('--origin', origin, '--port', port);
    const after = await page.evaluate(`(async () => {
      const lost = await held.data().then(() => 'nothing was lost', error => error.message);
      await kiln.useDevice('${name}');
      return [lost, [...await (await kiln.tensor([4, 5])).data()].join()];
    })()`);
    console.log(`     ${after[0]}`);
    check(after[0].includes('the tensors there are lost') && after[1] === '4,5', after.join('\n'));

    const without = await page.evaluate(`begin({threads: false}).then(kiln => kiln.useDevice('${name}'))
        .then(() => 'connected', error => \`\${error.kind}: \${error.message}\`)`);
    console.log(`     ${without}`);
    check(without.includes('takes threads'), without);
  } finally {
    await host.stop();
  }
}

await run({trainsThere, isUsedByKeys, refusesAWrongToken, saysThatThereIsNoServer, isNotTakenFromElsewhere, losesItsServer,
  hearsThatItsServerWasShutDown, isLeftDuringATraining, connectsAgain, speaksTls, trustsNoUnknownCertificate, isADeviceByName},
    {modules: ['remote', 'remote.threads']});
