// Measures networks by Kiln's package and by ONNX Runtime Web in one thread of a browser, which take turns; browser.mjs loads it.
import Kiln from '/kiln/index.js';

const TURNS = 4, WARM = 5, FEWEST = 5;

function random(length) {
  return Float32Array.from({length}, () => 2 * Math.random() - 1);
}
const sizeOf = shape => shape.reduce((all, size) => all * size, 1);

/** Runs one after another for some seconds, and adds the milliseconds of each to `times`. */
async function time(run, seconds, times) {
  for (let i = 0; i < WARM; ++i) await run();
  const fewest = times.length + FEWEST;
  for (const end = performance.now() + 1e3 * seconds; performance.now() < end || times.length < fewest;) {
    const begin = performance.now();
    await run();
    times.push(performance.now() - begin);
  }
}

async function kilnRun(kiln, bytes) {
  const model = await kiln.load(bytes), [{name, shape}] = model.inputs, data = random(sizeOf(shape));
  return async () => (await model.run({[name]: data}, {arrays: true}))[model.outputs[0].name];
}

/** `apart`: its worker gets the memory of each input, so that there is a new one each time. */
async function peerRun(ort, bytes, device, apart) {
  const session = await ort.InferenceSession.create(bytes, {executionProviders: [device], graphOptimizationLevel: 'all'});
  const [{name, shape}] = session.inputMetadata, data = random(sizeOf(shape)), input = new ort.Tensor('float32', data.slice(), shape);
  return async () =>
      (await session.run({[name]: apart ? new ort.Tensor('float32', data.slice(), shape) : input}))[session.outputNames[0]].data;
}

/**
 * `way` is where they compute: 'here', in the thread that calls them, or 'apart', in the worker that each of them has. Returns
 * rows {what, who, threads, least_ms, median_ms, runs}.
 */
export async function measure({files, threads, seconds, way, device}) {
  const webgpu = device === 'webgpu';
  const ort = await import(webgpu ? '/ort/ort.webgpu.bundle.min.mjs' : '/ort/ort.wasm.bundle.min.mjs');
  Object.assign(ort.env.wasm, {numThreads: threads, proxy: way === 'apart' && !webgpu});
  ort.env.logLevel = 'error';
  const kiln = await Kiln.start({module: new URL('/modules/kiln.js', location.origin), worker: way === 'apart', threads: threads > 1, device});
  const rows = [];
  for (const file of files) {
    const bytes = new Uint8Array(await (await fetch(`/networks/${file}`)).arrayBuffer());
    const runs = {Kiln: await kilnRun(kiln, bytes), 'ONNX Runtime Web': await peerRun(ort, bytes, webgpu ? 'webgpu' : 'wasm', way === 'apart')};
    const times = {Kiln: [], 'ONNX Runtime Web': []};
    for (let turn = 0; turn < TURNS; ++turn)
      for (const who in runs) await time(runs[who], seconds / TURNS, times[who]);
    for (const who in runs) {
      const sorted = times[who].sort((a, b) => a - b);
      rows.push({what: file, who, threads, least_ms: sorted[0], median_ms: sorted[sorted.length >> 1], runs: sorted.length});
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
