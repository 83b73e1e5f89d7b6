// The page: a network that its user or its address gives, pictures from files or the camera, and the time of each run.
import {el, guarded, note, showBars, showError, startKiln} from '../common/page.js';
import {best, drawSquare, normalised} from './pictures.js';

const SIDE = 224;  // where the network does not say
let kiln = null, model = null, source = null, labels = [], stream = null, download = null, hasPicture = false;
let times = [];

async function load(from) {
  showError(null);
  source = from;
  download?.abort();
  const mine = download = new AbortController();
  el('loaded').textContent = 'Loading …';
  const onProgress = ({loaded, total}) => {
    if (total) el('progress').value = loaded / total;
    else el('progress').removeAttribute('value');
  };
  let next;
  try {
    next = await kiln.load(from, {onProgress, signal: mine.signal, device: el('where').value, freeBatch: true});
    if (!next.run) throw new Error('this file has tensors and no program: give an ONNX file or a captured graph');
  } catch (error) {
    el('loaded').textContent = model ? 'The network before is still there.' : 'No network yet.';
    throw error;
  }
  model?.dispose();
  model = next;
  times = [];
  el('progress').value = 1;
  el('device').textContent = model.device;
  const inputs = model.inputs.map(({name, dtype, shape}) => `${name} ${dtype} [${shape?.map(size => size ?? '?').join(', ') ?? 'any'}]`);
  el('loaded').textContent = `${inputs.join(', ')} → ${model.outputs.map(port => port.name).join(', ')}`;
  await classify();
}

async function classify() {
  if (!model || !hasPicture) return;
  const used = model;  // another may come meanwhile
  const shape = used.inputs[0].shape, side = shape?.length === 4 && typeof shape[3] === 'number' ? shape[3] : SIDE;
  const picture = normalised(el('picture'), side), start = performance.now();
  const outputs = await used.run([picture]), scores = await outputs[used.outputs[0].name].data();
  const milliseconds = performance.now() - start;
  for (const output of Object.values(outputs)) output?.dispose?.();
  times.push(milliseconds);
  const rows = best(scores, labels, 5);
  showBars(el('bars'), rows, 0);
  el('result').textContent = `${rows[0].name}, ${(100 * rows[0].share).toFixed(1)} %`;
  el('milliseconds').textContent = `${milliseconds.toFixed(1)} ms`;
  el('median').textContent = `${[...times].sort((a, b) => a - b)[times.length >> 1].toFixed(1)} ms`;
  el('runs').textContent = times.length;
}

async function show(file) {
  showError(null);
  stopCamera();
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name}: this is no picture that the browser reads: take a PNG, JPEG or WebP file`);
  }
  drawSquare(el('picture'), picture, picture.width, picture.height);
  picture.close();
  hasPicture = true;
  el('picture').setAttribute('aria-label', file.name ?? 'the picture');
  await classify();
}

function stopCamera() {
  stream?.getTracks().forEach(track => track.stop());
  stream = null;
  el('camera').textContent = 'Use the camera';
}

async function useCamera() {
  if (stream) return stopCamera();
  showError(null);
  el('camera').disabled = true;  // while the browser asks its user
  try {
    stream = await navigator.mediaDevices.getUserMedia({video: {facingMode: 'environment'}});
  } catch (error) {
    const why = {NotAllowedError: 'the camera was refused', NotFoundError: 'there is no camera'}[error.name] ?? error.message;
    throw new Error(`${why}: upload a picture instead, or allow the camera for this page`);
  } finally {
    el('camera').disabled = false;
  }
  el('camera').textContent = 'Stop the camera';
  el('video').srcObject = stream;
  await el('video').play();
  while (stream) {
    const {videoWidth, videoHeight} = el('video');
    if (videoWidth) {
      drawSquare(el('picture'), el('video'), videoWidth, videoHeight);
      hasPicture = true;
      await classify();
    }
    await new Promise(resolve => requestAnimationFrame(resolve));
  }
}

/** The GPU where there is one, otherwise the processor, which the page says. */
async function choose() {
  const wish = el('where').value;
  showError(null);
  note('');
  try {
    await kiln.useDevice(wish);
  } catch (error) {
    note(`${wish} is not to be had here (${error.message}). The processor computes instead.`);
    el('where').value = 'cpu';
    await kiln.useDevice('cpu');
  }
  el('device').textContent = await kiln.device();
  if (source) await load(source);
}

async function readLabels(text) {
  labels = text.split(/\r?\n/);
  if (labels.at(-1) === '') labels.pop();
  await classify();
}

async function start() {
  kiln = await startKiln('kiln', {webgpu: true});  // which the page's user may choose at any time
  el('network').disabled = false;
  const asked = new URLSearchParams(location.search);
  if (el('device').textContent !== 'cpu' && asked.get('device') === 'webgpu') el('where').value = 'webgpu';
  if (asked.get('model')) await load(new URL(asked.get('model'), location.href));
  if (asked.get('labels')) {
    const answer = await fetch(asked.get('labels'));
    if (!answer.ok) throw new Error(`${asked.get('labels')}: the server answered ${answer.status}: choose a file of labels here instead`);
    await readLabels(await answer.text());
  }
}

el('network').addEventListener('change', event => event.target.files[0] && guarded(() => load(event.target.files[0])));
el('labels').addEventListener('change', event => event.target.files[0] && guarded(async () => readLabels(await event.target.files[0].text())));
el('upload').addEventListener('change', event => event.target.files[0] && guarded(() => show(event.target.files[0])));
el('camera').addEventListener('click', () => guarded(async () => { try { await useCamera(); } catch (error) { stopCamera(); throw error; } }));
el('where').addEventListener('change', () => guarded(choose));
await guarded(start);
document.documentElement.dataset.ready = kiln ? 'yes' : 'no';
