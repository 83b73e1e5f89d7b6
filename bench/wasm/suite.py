#!/usr/bin/env python3
"""`./dev bench wasm`: products and networks by Kiln's modules and by ONNX Runtime Web's of npm, in node and in headless Chromium.

With one thread and two. The native build's product on vectors of 256 bits stands beside them, as the measure of what the machine
can do. In Chromium both compute in the page's own thread, in one worker, or each in a worker of its own; with --webgpu on the GPU,
which may be SwiftShader."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
NETWORKS = BUILD / "bench-wasm"
RUNTIME = "onnxruntime-web@1.30.0"


def lines_of(command, cwd=None, skipped=0, **settings):
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **settings}, capture_output=True, text=True)
    if done.returncode and done.returncode == skipped:
        print(done.stdout.strip(), flush=True)
        return []
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def print_all(who, rows):
    for row in rows:
        rate = f"{row['gflops']:8.1f} GFLOP/s" if "gflops" in row else ""
        print(f"{who:32}{row['threads']:3} {row['what']:24}{row['least_ms']:10.3f} ms {row['median_ms']:10.3f} ms {rate}", flush=True)


def networks():
    NETWORKS.mkdir(parents=True, exist_ok=True)
    if not list(NETWORKS.glob("*.onnx")):
        subprocess.run([BUILD / "release/bin/bench_wasm_networks", NETWORKS], check=True, stdout=subprocess.DEVNULL)
    if not (NETWORKS / "node_modules").exists():
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--no-save", RUNTIME], cwd=NETWORKS, check=True)
    return sorted(NETWORKS.glob("*.onnx"))


def in_browser(seconds, files, *wishes):
    rows = lines_of(["node", "--no-warnings", HERE / "browser.mjs", f"--modules={BUILD / 'wasm/web'}",
                     f"--ort={NETWORKS / 'node_modules/onnxruntime-web/dist'}", f"--seconds={seconds}", *wishes, *files], skipped=77)
    for row in rows:
        print_all(f"{row['who']}, {row['where']}", [row])


def main():
    options = argparse.ArgumentParser(prog="./dev bench wasm", description=__doc__)
    options.add_argument("--seconds", type=float, default=3, help="for each of them")
    options.add_argument("--webgpu", action="store_true", help="networks on the GPU of Chromium, in a page alone")
    given = options.parse_args()
    seconds = str(given.seconds)
    files = networks()
    print(f"{'':32}{'':3} {'':24}{'least':>13} {'median':>13}")
    if given.webgpu:
        in_browser(seconds, files, "--device=webgpu", "--where=page")
        return
    native = [BUILD / "release/bin/bench_wasm_native", seconds, "256"]
    print_all("native, AVX2", lines_of(native, KILN_THREADS="1"))
    for threads, program in (("1", "bench_wasm"), ("2", "bench_wasm_threads")):
        module = ["node", "--no-warnings", BUILD / f"wasm/bin/{program}.js", seconds, "256", "512", *files]
        print_all("Kiln", lines_of(module, KILN_THREADS=threads))
        peer = ["node", "--no-warnings", HERE / "ort_web.mjs", threads, seconds, *files]
        print_all("ONNX Runtime Web", lines_of(peer, cwd=NETWORKS))
    in_browser(seconds, files)


if __name__ == "__main__":
    main()
