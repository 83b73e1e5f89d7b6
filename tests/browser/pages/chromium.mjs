// A headless Chromium that a test drives by the DevTools protocol, over a pipe: each message is JSON and ends with a zero byte.
import {spawn} from 'node:child_process';
import {accessSync, constants, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export const SKIPPED = 77;  // as ctest's SKIP_RETURN_CODE
// Flags: WebGPU on the processor, by SwiftShader; and none at all.
export const WEBGPU = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];
export const NO_WEBGPU = ['--disable-features=WebGPU'];

export const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

/** The program: KILN_CHROMIUM, or the first that PATH has; undefined where there is none. */
export function program() {
  if (process.env.KILN_CHROMIUM !== undefined) return process.env.KILN_CHROMIUM || undefined;
  for (const folder of (process.env.PATH ?? '').split(':'))
    for (const name of ['chromium', 'chromium-browser', 'google-chrome'])
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {}
  return undefined;
}

// A test that is ended ends its browser.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(1));

export class Browser {
  #calls = new Map();
  #last = 0;
  #received = '';
  #pages = new Map();
  #ended = null;

  /** `flags` are further ones of Chromium. */
  static async start(flags = []) {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), 'kiln-pages-'));
    browser.process = spawn(program(), ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-sync', '--disable-background-networking', '--disable-extensions', '--disable-component-update',
      '--disable-dev-shm-usage', '--mute-audio',
      `--user-data-dir=${browser.profile}`, '--remote-debugging-pipe', ...flags, 'about:blank'],
        {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true});
    browser.gone = new Promise(resolve => {
      const end = why => {
        browser.#end(new Error(why));
        resolve();
      };
      browser.process.on('exit', (status, signal) => end(`Chromium ended with ${signal ?? status}`));
      browser.process.on('error', error => end(`Chromium did not start: ${error.message}`));
    });
    process.once('exit', browser.#kill);
    browser.process.stdio[4].setEncoding('utf8');
    browser.process.stdio[4].on('data', data => browser.#receive(data));
    browser.process.stdio[3].on('error', () => {});
    return browser;
  }

  /** Calls that wait, and all later ones, fail. */
  #end(error) {
    this.#ended = error;
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }

  /** With its children: they are a process group of their own. */
  #kill = () => {
    try { process.kill(-this.process.pid, 'SIGKILL'); } catch {}
  };

  #receive(data) {
    this.#received += data;
    for (let end; (end = this.#received.indexOf('\0')) >= 0;) {
      const message = JSON.parse(this.#received.slice(0, end));
      this.#received = this.#received.slice(end + 1);
      const call = this.#calls.get(message.id);
      if (call) {
        this.#calls.delete(message.id);
        if (message.error) call.reject(new Error(`${call.method}: ${message.error.message}`));
        else call.resolve(message.result);
      } else this.#pages.get(message.sessionId)?.heard(message);
    }
  }

  call(method, params = {}, sessionId = undefined) {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, {resolve, reject, method});
      this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    });
  }

  async page(address, {width = 1000, height = 900, dark = false, phone = false} = {}) {
    const {targetId} = await this.call('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.call('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, sessionId, targetId);
    this.#pages.set(sessionId, page);
    await page.call('Runtime.enable');
    await page.call('Page.enable');
    await page.call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: phone});
    await page.call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
    await page.call('Page.navigate', {url: address});
    return page;
  }

  /** The workers that run in pages of this browser. */
  async workers() {
    return (await this.call('Target.getTargets', {filter: [{type: 'worker'}, {type: 'page', exclude: true}]})).targetInfos;
  }

  async close() {
    this.call('Browser.close').catch(() => {});
    await Promise.race([this.gone, pause(5000)]);
    this.#kill();
    await this.gone;
    process.off('exit', this.#kill);
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}

class Page {
  constructor(browser, session, target) {
    Object.assign(this, {browser, session, target, said: [], errors: []});  // errors: what nobody caught
  }
  call(method, params) { return this.browser.call(method, params, this.session); }
  heard({method, params}) {
    if (method === 'Runtime.exceptionThrown') {
      this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      this.said.push(this.errors.at(-1));
    }
    if (method === 'Runtime.consoleAPICalled') this.said.push(params.args.map(arg => arg.value ?? arg.description).join(' '));
  }
  /** What an expression comes to; promises are waited for. */
  async evaluate(expression) {
    const {result, exceptionDetails} = await this.call('Runtime.evaluate',
        {expression, returnByValue: true, awaitPromise: true, userGesture: true});
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }
  /** Waits until an expression is true. */
  async becomes(expression, seconds = 60) {
    for (const end = Date.now() + 1000 * seconds; Date.now() < end; await pause(50)) {
      // While a page is being loaded, what is asked for is not there.
      if (await this.evaluate(`(() => { try { return !!(${expression}); } catch { return false; } })()`).catch(() => false)) return;
    }
    const error = await this.evaluate('document.getElementById("error")?.textContent').catch(() => '');
    throw new Error(`after ${seconds} s it is not so: ${expression}\nthe page says: ${error}\n${this.said.join('\n')}`);
  }
  text(id) { return this.evaluate(`document.getElementById(${JSON.stringify(id)}).textContent`); }
  mouse(type, x, y, buttons = 1) {
    return this.call('Input.dispatchMouseEvent', {type, x, y, button: 'left', buttons, clickCount: 1, pointerType: 'mouse'});
  }
  key(key, extra = {}) {
    const keys = {' ': {code: 'Space', text: ' '}, Tab: {code: 'Tab', windowsVirtualKeyCode: 9}};
    return this.call('Input.dispatchKeyEvent', {type: 'keyDown', key, ...keys[key], ...extra})
        .then(() => this.call('Input.dispatchKeyEvent', {type: 'keyUp', key, ...keys[key], ...extra}));
  }
  /** Gives files to an <input type=file>. */
  async choose(id, ...files) {
    const {root} = await this.call('DOM.getDocument');
    const {nodeId} = await this.call('DOM.querySelector', {nodeId: root.nodeId, selector: '#' + id});
    await this.call('DOM.setFileInputFiles', {nodeId, files});
  }
  async screenshot(file) {
    const {data} = await this.call('Page.captureScreenshot', {format: 'png', captureBeyondViewport: true});
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
  close() { return this.browser.call('Target.closeTarget', {targetId: this.target}); }
}
