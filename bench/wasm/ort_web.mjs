// ONNX Runtime Web's side of `./dev bench wasm`: node ort_web.mjs THREADS SECONDS FILE.onnx..., with the package onnxruntime-web in
// NODE_PATH's folder or beside the caller. Random inputs of the declared sizes; a line of JSON for each file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";

const ort = createRequire(join(process.cwd(), "x.js"))("onnxruntime-web");
const [threads, seconds, ...files] = process.argv.slice(2);
ort.env.wasm.numThreads = Number(threads);
ort.env.logLevel = "error";

for (const file of files) {
  const session = await ort.InferenceSession.create(readFileSync(file), { executionProviders: ["wasm"], graphOptimizationLevel: "all" });
  const feeds = {};
  for (const input of session.inputMetadata) {
    const numbers = Float32Array.from({ length: input.shape.reduce((a, b) => a * b, 1) }, () => Math.random() * 2 - 1);
    feeds[input.name] = new ort.Tensor("float32", numbers, input.shape);
  }
  for (let i = 0; i < 5; ++i) await session.run(feeds);
  const times = [];
  for (const end = performance.now() + 1e3 * seconds; performance.now() < end || times.length < 5;) {
    const begin = performance.now();
    await session.run(feeds);
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({ what: basename(file), threads: Number(threads), least_ms: times[0], median_ms: times[times.length >> 1], runs: times.length }));
  await session.release();
}
process.exit(0);
