// The page of images, driven in Chromium: networks from files and addresses, pictures, the camera.
import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {NO_WEBGPU} from './chromium.mjs';
import {check, options, run, variants} from './support.mjs';

const ready = page => page.becomes('document.documentElement.dataset.ready === "yes"');
const failed = (page, words) => page.becomes(`document.getElementById("error").textContent.includes(${JSON.stringify(words)})`);
const picture = join(options.source, 'docs/vision.png');

async function classifies({browser, address, folder}) {
  const page = await browser.page(`${address}image_classification/?model=../models/net.onnx&labels=../models/labels.txt`);
  await ready(page);
  check((await page.text('loaded')).includes('float32 [batch, 3, 32, 32]'), await page.text('loaded'));
  await page.choose('upload', picture);
  await page.becomes('document.querySelectorAll("#bars li").length === 5');
  check(/^(cat|dog|cow|hen|owl), [\d.]+ %$/.test(await page.text('result')), await page.text('result'));
  check(/^[\d.]+ ms$/.test(await page.text('milliseconds')), await page.text('milliseconds'));
  // A captured graph of the same network says the same of the same picture.
  const before = await page.text('bars');
  await page.choose('network', join(folder, 'graph.safetensors'));
  await page.becomes('document.getElementById("loaded").textContent.startsWith("input float32")');
  await page.becomes('document.getElementById("runs").textContent === "1"');
  check(await page.text('bars') === before, 'the graph says', await page.text('bars'), 'and the ONNX file', before);
}

/** What the tab computes is what the program on the host computed. */
async function computesAsOnTheHost({browser, address, folder}) {
  const page = await browser.page(`${address}image_classification/`);
  await ready(page);
  const expected = new Float32Array(new Uint8Array(readFileSync(join(folder, 'expected.f32'))).buffer);
  for (const where of ['true', 'false'])
    for (const file of ['net.onnx', 'graph.safetensors']) {
      const got = await page.evaluate(`(async () => {
        const {Kiln} = await import(new URL('../kiln/index.js', location.href));
        const kiln = await Kiln.start({module: new URL('../modules/kiln.js', location.href), worker: ${where}});
        const model = await kiln.load('../models/${file}');
        const input = new Float32Array(await (await fetch('../models/picture.f32')).arrayBuffer());
        const outputs = await model.run(input), data = await Object.values(outputs)[0].data();
        kiln.close();
        return [...data];
      })()`);
      check(got.every((value, i) => Math.abs(value - expected[i]) < 1e-5) && got.length === 5, `${file}: ${got}, expected ${[...expected]}`);
    }
}

async function refusesWrongNetworks({browser, address, folder}) {
  const page = await browser.page(`${address}image_classification/?model=../models/net.onnx`);
  await ready(page);
  const whole = readFileSync(join(folder, 'net.onnx'));
  writeFileSync(join(folder, 'cut.onnx'), whole.subarray(0, whole.length / 2));
  writeFileSync(join(folder, 'text.onnx'), 'not a network');
  writeFileSync(join(folder, 'empty.onnx'), '');
  writeFileSync(join(folder, 'damaged.onnx'), whole.toString('latin1').replaceAll('Conv', 'Cxnv'), 'latin1');
  const graph = readFileSync(join(folder, 'graph.safetensors')), version = graph.indexOf('kiln\x01') + 4;
  writeFileSync(join(folder, 'cut.safetensors'), graph.subarray(0, graph.length / 2));
  writeFileSync(join(folder, 'later.safetensors'), Buffer.concat([graph.subarray(0, version), Buffer.from([2]), graph.subarray(version + 1)]));
  for (const [name, words] of [['cut.onnx', ''], ['text.onnx', ''], ['empty.onnx', ''], ['damaged.onnx', 'Cxnv'], ['cut.safetensors', ''],
    ['later.safetensors', 'version 2']]) {
    await page.choose('network', join(folder, name));
    await failed(page, name);
    await failed(page, words);
    console.log(`     ${await page.text('error')}`);
    check((await page.text('loaded')).includes('still there'), await page.text('loaded'));
  }
  await page.choose('network', join(folder, 'tensors.safetensors'));
  await failed(page, 'tensors and no program');
  await page.choose('upload', join(folder, 'text.onnx'));
  await failed(page, 'this is no picture');
  await page.choose('upload', picture);
  await page.becomes('document.querySelectorAll("#bars li").length === 5');  // by the network before
}

async function refusesLabelsThatAreNotThere({browser, address}) {
  const page = await browser.page(`${address}image_classification/?model=../models/net.onnx&labels=../models/missing.txt`);
  await failed(page, 'missing.txt: the server answered 404');
  await page.choose('upload', picture);
  await page.becomes('document.querySelectorAll("#bars li").length === 5');
  check(/^class \d, /.test(await page.text('result')), await page.text('result'));
}

async function saysThatTheCameraWasRefused({browser, address}) {
  const page = await browser.page(`${address}image_classification/`);
  await ready(page);
  await page.evaluate('document.getElementById("camera").click()');
  await page.becomes('/camera/.test(document.getElementById("error").textContent) && /upload a picture instead/.test(document.getElementById("error").textContent)');
  console.log(`     ${await page.text('error')}`);
}

async function looksThroughTheCamera({browser, address}) {
  const page = await browser.page(`${address}image_classification/?model=../models/net.onnx`);
  await ready(page);
  await page.evaluate('document.getElementById("camera").click()');
  await page.becomes('Number(document.getElementById("runs").textContent) > 3');
  await page.evaluate('document.getElementById("camera").click()');
  await page.becomes('document.getElementById("camera").textContent === "Use the camera"');
}
looksThroughTheCamera.flags = ['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream'];

async function fallsBackToTheProcessor({browser, address}) {
  const page = await browser.page(`${address}image_classification/?model=../models/net.onnx&device=webgpu`);
  await ready(page);
  check((await page.text('note')).includes('webgpu is not to be had here'), await page.text('note'));
  check(await page.text('device') === 'cpu', await page.text('device'));
}
fallsBackToTheProcessor.flags = NO_WEBGPU;

async function livesOnWithoutMemory({browser, address}) {
  const page = await browser.page(`${address}image_classification/`);
  await ready(page);
  const said = await page.evaluate(`(async () => {
    const {Kiln} = await import(new URL('../kiln/index.js', location.href));
    const kiln = await Kiln.start({module: new URL('../modules/kiln.js', location.href)});
    // Of 4 GiB the module itself needs more than the rest.
    const huge = new Response(new Uint8Array(10), {headers: {'Content-Length': String(4.294e9)}});
    const error = await kiln.load(huge, {name: 'huge.onnx'}).catch(error => error);
    const model = await kiln.load('../models/net.onnx');
    return [error.kind, error.message, model.kind].join('; ');
  })()`);
  console.log(`     ${said}`);
  check(/^MemoryError; .*memory.*; onnx$/.test(said), said);
}

await run({classifies, computesAsOnTheHost, refusesWrongNetworks, refusesLabelsThatAreNotThere, saysThatTheCameraWasRefused,
  looksThroughTheCamera, fallsBackToTheProcessor, livesOnWithoutMemory}, {
  modules: variants('kiln'),
  prepare: folder => {
    execFileSync(options.files, [folder]);
    writeFileSync(join(folder, 'labels.txt'), 'cat\ndog\ncow\nhen\nowl\n');
  },
});
