// The page of digits, driven in Chromium: digits that are drawn on it are read, and the network is trained there.
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {NO_WEBGPU, WEBGPU} from './chromium.mjs';
import {check, options, run, variants} from './support.mjs';
import {hasMnist, strokes, testDigits} from './mnist.mjs';

const weights = join(options.source, 'examples/web/digits/digits.safetensors');
const hasDigits = hasMnist(options.data);

const ready = page => page.becomes('document.documentElement.dataset.ready === "yes"');

/** Draws lines on the board with the mouse. Returns what the page reads then. */
async function draw(page, lines) {
  const box = await page.evaluate('(() => { const b = document.getElementById("drawing").getBoundingClientRect(); return {x: b.x, y: b.y, side: b.width}; })()');
  const place = ({x, y}) => [box.x + x * box.side, box.y + y * box.side];
  await page.evaluate('document.getElementById("clear").click()');
  await page.becomes('document.getElementById("reading").dataset.digit === ""');
  const sent = [];
  for (const [from, to] of lines)
    sent.push(page.mouse('mousePressed', ...place(from)), page.mouse('mouseMoved', ...place(to)),
        page.mouse('mouseReleased', ...place(to), 0));
  await Promise.all(sent);
  await page.becomes('document.getElementById("reading").dataset.digit !== ""');
  // The last reading is of the whole drawing.
  let before;
  for (let now = await page.text('reading'), same = 0; same < 3; now = await page.text('reading')) {
    same = now === before ? same + 1 : 0;
    before = now;
  }
  return Number(await page.evaluate('document.getElementById("reading").dataset.digit'));
}

/** A one: a line down the middle. */
const one = [[{x: 0.5, y: 0.2}, {x: 0.5, y: 0.8}]];

async function readsDrawnStrokes({browser, address}) {
  if (!hasDigits) return console.log('     without MNIST\'s files (KILN_DATA) there are no digits to draw');
  const page = await browser.page(address + 'digits/');
  await ready(page);
  const wrong = [];
  for (const [i, digit] of testDigits(options.data, 100).entries()) {
    const read = await draw(page, strokes(digit));
    if (read !== digit.label) wrong.push(`${i}: ${digit.label} as ${read}`);
  }
  console.log(`     ${100 - wrong.length} of 100 right (${wrong.join(', ')})`);
  check(wrong.length <= 5, 'it should read 95 of 100');
}

async function readsKeysAndTouch({browser, address}) {
  const page = await browser.page(address + 'digits/', {width: 390, height: 844, phone: true});
  await ready(page);
  check(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'the page is wider than a phone');
  // Keys: up, pen down, a line, pen up.
  await page.evaluate('document.getElementById("drawing").focus()');
  for (let i = 0; i < 8; ++i) await page.key('ArrowUp');
  await page.key(' ');
  for (let i = 0; i < 16; ++i) await page.key('ArrowDown');
  await page.key(' ');
  await page.becomes('document.getElementById("reading").dataset.digit === "1"');
  await page.key('Delete');
  await page.becomes('document.getElementById("reading").dataset.digit === ""');
  // A finger.
  await page.call('Emulation.setTouchEmulationEnabled', {enabled: true});
  await page.evaluate('document.getElementById("drawing").scrollIntoView()');
  const box = await page.evaluate('(() => { const b = document.getElementById("drawing").getBoundingClientRect(); return {x: b.x, y: b.y, side: b.width}; })()');
  const touch = (type, y) => page.call('Input.dispatchTouchEvent',
      {type, touchPoints: type === 'touchEnd' ? [] : [{x: box.x + box.side / 2, y: box.y + y * box.side}]});
  await touch('touchStart', 0.2);
  for (const y of [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]) await touch('touchMove', y);
  await touch('touchEnd');
  await page.becomes('document.getElementById("reading").dataset.digit === "1"');
}

async function trains({browser, address}) {
  const page = await browser.page(address + 'digits/');
  await ready(page);
  await page.becomes('!document.getElementById("train").disabled');
  check(await page.evaluate('document.getElementById("data").value') === (hasDigits ? 'mnist' : 'drawn'), 'the data are others');
  await page.evaluate('document.getElementById("train").click()');
  // So much of the 500 digits that it tests meanwhile means more than 0.95 of all 10000, which it tests at the end.
  await page.becomes('Number(document.getElementById("state").dataset.accuracy) >= 0.97 || ' +
      'document.getElementById("state").textContent.startsWith("trained")', 600);
  // The page answers meanwhile, and the curve has been drawn.
  check(await draw(page, one) === 1, 'it does not read during the training');
  const coloured = await page.evaluate(`(() => { const c = document.getElementById('curve'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i + 3] > 100 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60; return n; })()`);
  check(coloured > 100, 'the curve has', coloured, 'pixels');
  await page.evaluate('document.getElementById("stop").click()');
  await page.becomes('document.getElementById("state").textContent.includes("it reads your digit now")', 120);
  const accuracy = Number(await page.evaluate('document.getElementById("state").dataset.accuracy'));
  console.log(`     ${await page.text('state')}`);
  check(accuracy >= 0.95, 'test accuracy', accuracy);
  check(await draw(page, one) === 1, 'the network that was trained does not read');
}

async function isLeftDuringATraining({browser, address}) {
  const page = await browser.page(address + 'digits/');
  await ready(page);
  await page.becomes('!document.getElementById("train").disabled');
  await page.evaluate('document.getElementById("data").value = "drawn"; document.getElementById("train").click()');
  await page.becomes('document.getElementById("state").textContent.startsWith("step")');
  await page.call('Page.navigate', {url: 'about:blank'});
  await page.becomes('location.href === "about:blank"');
  for (let i = 0; (await browser.workers()).length > 0; ++i) {
    check(i < 100, 'its workers live on');
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  await page.call('Page.navigate', {url: address + 'digits/'});
  await ready(page);
  check(await draw(page, one) === 1, 'it does not read after coming back');
}

/** Files of weights that are wrong give an error on the page, which goes on: it can be trained. */
async function refusesWrongWeights({browser, address, folder}) {
  const whole = readFileSync(weights), wrong = {
    'empty': whole.subarray(0, 0),
    'cut': whole.subarray(0, whole.length / 2),
    'header': Buffer.concat([whole.subarray(0, 8), Buffer.from('#'), whole.subarray(9)]),
    'text': Buffer.from('<html>not found</html>'),
    'other': Buffer.from(whole.toString('latin1').replace('linear1.weight', 'linear3.weight'), 'latin1'),
  };
  for (const [name, bytes] of Object.entries(wrong)) {
    writeFileSync(join(folder, `${name}.safetensors`), bytes);
    const page = await browser.page(`${address}digits/?weights=../models/${name}.safetensors`);
    await page.becomes('document.documentElement.dataset.ready === "no"');
    const error = await page.text('error');
    console.log(`     ${name}: ${error}`);
    check(error.includes(`${name}.safetensors`), 'the error does not name the file:', error);
    await page.becomes('!document.getElementById("train").disabled');
    await page.close();
  }
  const page = await browser.page(`${address}digits/?weights=../models/missing.safetensors`);
  await page.becomes('document.getElementById("error").textContent.includes("404")');
}

async function readsByWebGpu({browser, address}) {
  const page = await browser.page(address + 'digits/?device=webgpu');
  await ready(page);
  check(await page.text('device') === 'webgpu', await page.text('device'), await page.text('note'));
  check(await draw(page, one) === 1, 'WebGPU does not read');
}
readsByWebGpu.flags = WEBGPU;

async function saysThatThereIsNoWebGpu({browser, address}) {
  const page = await browser.page(address + 'digits/?device=webgpu');
  await ready(page);
  check((await page.text('note')).includes('webgpu is not to be had here'), await page.text('note'));
  check(await page.text('device') === 'cpu', await page.text('device'));
  check(await draw(page, one) === 1, 'the processor does not read');
}
saysThatThereIsNoWebGpu.flags = NO_WEBGPU;

await run({readsKeysAndTouch, refusesWrongWeights, readsByWebGpu, saysThatThereIsNoWebGpu, isLeftDuringATraining,
  readsDrawnStrokes, trains},
    {modules: variants('digits'), serve: () => hasDigits ? ['--data', options.data] : []});
