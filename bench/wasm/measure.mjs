// Measures networks by Kiln's package and by ONNX Runtime Web in one thread of a browser, which take turns; browser.mjs loads it.
import Kiln from '/kiln/index.js';

const WARM = 5, FEWEST = 1;

function random(length) {
  return Float32Array.from({length}, () => 2 * Math.random() - 1);
}
const sizeOf = shape => shape.reduce((all, size) => all * size, 1);

function differenceOf(some, others) {
  const largest = values => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return largest(some.map((value, i) => value - others[i])) / largest(others);
}

/** Runs one after another for some seconds, and adds the milliseconds of each to `times`; before, at most as long to get warm. */
async function time(run, seconds, times) {
  const warm = performance.now() + 1e3 * seconds;
  for (let i = 0; i < WARM && (i === 0 || performance.now() < warm); ++i) await run();
  const fewest = times.length + FEWEST;
  for (const end = performance.now() + 1e3 * seconds; performance.now() < end || times.length < fewest;) {
    const begin = performance.now();
    await run();
    times.push(performance.now() - begin);
  }
}

function kilnRun(model, data) {
  const [{name}] = model.inputs;
  return async () => (await model.run({[name]: data}, {arrays: true}))[model.outputs[0].name];
}

/** `apart`: its worker gets the memory of each input, so that there is a new one each time. */
async function peerRun(ort, bytes, data, device, apart) {
  const session = await ort.InferenceSession.create(bytes, {executionProviders: [device], graphOptimizationLevel: 'all'});
  const [{name, shape}] = session.inputMetadata, input = new ort.Tensor('float32', data.slice(), shape);
  return async () =>
      (await session.run({[name]: apart ? new ort.Tensor('float32', data.slice(), shape) : input}))[session.outputNames[0]].data;
}

/**
 * `way` is where they compute: 'here', in the thread that calls them, or 'apart', in the worker that each of them has. Returns
 * rows {what, who, threads, least_ms, median_ms, runs, difference}; the last is of the two's outputs for the same input, as a share of
 * the largest.
 */
export async function measure({files, threads, seconds, turns, way, device}) {
  const webgpu = device === 'webgpu';
  const ort = await import(webgpu ? '/ort/ort.webgpu.bundle.min.mjs' : '/ort/ort.wasm.bundle.min.mjs');
  Object.assign(ort.env.wasm, {numThreads: threads, proxy: way === 'apart' && !webgpu});
  ort.env.logLevel = 'error';
  const kiln = await Kiln.start({module: new URL('/modules/kiln.js', location.origin), worker: way === 'apart', threads: threads > 1, device});
  const rows = [];
  for (const file of files) {
    const bytes = new Uint8Array(await (await fetch(`/networks/${file}`)).arrayBuffer());
    const model = await kiln.load(bytes), data = random(sizeOf(model.inputs[0].shape));
    const peer = await peerRun(ort, bytes, data, webgpu ? 'webgpu' : 'wasm', way === 'apart');
    const runs = {Kiln: kilnRun(model, data), 'ONNX Runtime Web': peer}, difference = differenceOf(await runs.Kiln(), await peer());
    const times = {Kiln: [], 'ONNX Runtime Web': []};
    for (let turn = 0; turn < turns; ++turn)
      for (const who in runs) await time(runs[who], seconds / turns, times[who]);
    for (const who in runs) {
      const sorted = times[who].sort((a, b) => a - b);
      rows.push({what: file, who, threads, least_ms: sorted[0], median_ms: sorted[sorted.length >> 1], runs: sorted.length, difference});
    }
  }
  kiln.close();
  return rows;
}

// A worker is asked by a message.
if (typeof document === 'undefined')
  onmessage = async ({data}) => {
    try {
      postMessage({rows: await measure(data)});
    } catch (error) {
      postMessage({error: String(error?.stack ?? error)});
    }
  };
