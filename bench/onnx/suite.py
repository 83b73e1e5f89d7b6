#!/usr/bin/env python3
"""Networks in ONNX files, run by Kiln and by ONNX Runtime in turns: ./dev bench --onnx [--only WORDS] [--json FILE]

bench/README.md says how to read the table."""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from runners import Server  # noqa: E402

PROGRAM = ROOT / "build" / "release" / "bin" / "bench_onnx"
WALL, PROCESSOR = 0, 1
PAUSE = 0.3  # seconds, in which threads that wait for more work on the other side go to sleep


def spread(samples):
    """The distance between the quartiles, as a share of the median."""
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle


def outputs_of(server):
    """Every output of a server's network."""
    with tempfile.TemporaryDirectory() as folder:
        server.ask(f"save {folder}")
        return [numpy.load(path) for path in sorted(pathlib.Path(folder).glob("*.npy"))]


def difference(one, other):
    """The largest of all differences of an output, as a share of its largest number; infinite where shapes differ."""
    if len(one) != len(other) or any(a.shape != b.shape for a, b in zip(one, other)):
        return math.inf
    pairs = [(a.astype(float), b.astype(float)) for a, b in zip(one, other) if a.size]
    return max((float(numpy.abs(a - b).max() / max(numpy.abs(a).max(), 1e-30)) for a, b in pairs), default=0)


def measure(path, directory, threads, options):
    """What the JSON file says of one network with one batch on so many threads; None if a side could not do it."""
    servers = {
        "kiln": Server([options.program, path, directory], {"KILN_THREADS": str(threads)}),
        "ort": Server([sys.executable, "-B", ROOT / "bench" / "onnx" / "ort_server.py", path, directory, threads]),
    }
    samples, loads = {side: [] for side in servers}, {}
    try:
        for server in servers.values():
            server.ask("0")  # not one is measured while another loads
        for _ in range(options.rounds):
            for side, server in servers.items():
                time.sleep(PAUSE)
                answer = server.ask(str(options.seconds / options.rounds))
                if answer is None:
                    return None
                samples[side] += answer["samples"]
                loads[side] = answer["load_ms"]
        apart = difference(outputs_of(servers["ort"]), outputs_of(servers["kiln"]))
    finally:
        for server in servers.values():
            server.close()
    entry = {"threads": threads, "difference": apart, "load_ms": loads}
    for clock, label in ((WALL, "ms"), (PROCESSOR, "processor_ms")):
        taken = {side: [sample[clock] for sample in samples[side]] for side in samples}
        entry[label] = {side: statistics.median(taken[side]) for side in taken}
        entry[label]["ratio"] = entry[label]["ort"] / entry[label]["kiln"]
        entry[label]["spread"] = spread(taken["kiln"])
    return entry


def row(entry):
    wall, processor = entry["ms"], entry["processor_ms"]
    print(
        f"{entry['name']:20}{entry['batch']:6}{entry['threads']:8}{wall['kiln']:11.3f}{wall['spread']:8.0%}"
        f"{wall['ort']:11.3f}{wall['ratio']:8.2f}{processor['kiln']:12.3f}{processor['ort']:11.3f}"
        f"{processor['ratio']:8.2f}{entry['difference']:12.1e}",
        flush=True,
    )


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench --onnx", description=__doc__.split("\n\n")[0])
    parser.add_argument("--onnx", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", metavar="WORDS", help="networks with one of these words in their name")
    parser.add_argument("--batches", default="1,8", metavar="LIST")
    parser.add_argument("--threads", default="1,2", metavar="LIST")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=3, help="for each network, batch, number of threads and side")
    parser.add_argument("--rounds", type=int, default=3, help="turns that these seconds are cut into")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM, help=argparse.SUPPRESS)
    parser.add_argument("--mnist", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "weights" / "mnist.onnx",
                        help="the file of the network 'mnist', which is left out where there is none")  # fmt: skip
    return parser.parse_args()


def numbers(words):
    return [int(word) for word in words.split(",")]


def main():
    import export  # needs PyTorch, which who measures other files (folder.py) may lack

    options = arguments()
    words = [word for word in options.only.split(",") if word]
    place, batches = ROOT / "build" / "onnx", numbers(options.batches)
    print(f"{'ms':20}{'batch':>6}{'threads':>8}{'kiln':>11}{'spread':>8}{'ort':>11}{'ratio':>8}{'kiln cpu':>12}"
          f"{'ort cpu':>11}{'ratio':>8}{'difference':>12}")  # fmt: skip
    entries, failed = [], []
    for name in export.networks(options.mnist):
        if words and not any(word in name for word in words):
            continue
        path = export.prepare(name, batches, place, options.mnist)
        for batch in batches:
            for threads in numbers(options.threads):
                entry = measure(path, place / f"{name}.{batch}", threads, options)
                if entry is None or not entry["difference"] < 1e-3:
                    failed.append(f"{name} batch {batch}, {threads} threads")
                if entry is None:
                    continue
                entries.append({"name": name, "batch": batch, **entry})
                row(entries[-1])
    for label, said in (("ms", "by the clock"), ("processor_ms", "in processor time")):
        for threads in numbers(options.threads):
            ratios = [entry[label]["ratio"] for entry in entries if entry["threads"] == threads]
            if ratios:
                mean = math.exp(statistics.fmean(map(math.log, ratios)))
                print(f"{threads} threads, {said}: Kiln is {mean:.2f} times as fast, at least {min(ratios):.2f}")
    for each in failed:
        print(f"failed, or outputs differ: {each}")
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "networks": entries}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
