#!/usr/bin/env python3
"""The benchmark suite: ./dev bench [--device NAME] [--peers [LIST]] [--burn PROGRAM] [--only WORDS] [--json FILE]

Kiln and its peers take turns on each workload. bench/README.md says how to read the table."""
import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import results
import scaling
from figures import figures
from runners import ROOT, Burn, Kiln, Torch, peers_python


def rates(programs):
    """What the machine can do at this moment."""
    done = subprocess.run([programs / "bench_machine"], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def device_rates(kiln, workloads):
    """What a device beside the processor copies at; its arithmetic is in the table, by its own libraries."""
    copy = next(workload for workload in workloads if workload["name"] == "copy")
    samples = kiln.burst("copy", 1)
    rate = round((copy["read"] + copy["written"]) / statistics.median(samples) / 1e6, 1) if samples else None
    return {"threads": os.cpu_count(), "copy_gb_s": rate, "read_gb_s": rate, "fma_gflop_s": None, "bf16_gflop_s": None,
            "handoff_ns": None, "amx_traps": False}


def described(machine):
    if machine["fma_gflop_s"] is None:
        return f"copy {machine['copy_gb_s']} GB/s, load {os.getloadavg()[0]:.1f}"
    return (f"copy {machine['copy_gb_s']} GB/s, read {machine['read_gb_s']} GB/s, multiply-add "
            f"{machine['fma_gflop_s']} GFLOP/s (bfloat16 {machine['bf16_gflop_s'] or 'the same'}), handoff {machine['handoff_ns']} ns, load {os.getloadavg()[0]:.1f}")


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def least_ms(workload, machine):
    """The least time that the machine could take for it; None where nobody has worked out what it needs."""
    moved, copied = workload["read"] + workload["written"], workload["written"] > 0
    bandwidth = machine["copy_gb_s"] if copied else machine["read_gb_s"]
    arithmetic = machine["bf16_gflop_s"] if workload["bf16"] and machine["bf16_gflop_s"] else machine["fma_gflop_s"]
    least = max(moved / bandwidth / 1e6 if bandwidth else 0, workload["flops"] / arithmetic / 1e6 if arithmetic else 0)
    return least or None


def spread(samples):
    """The distance between the quartiles, as a share of the median."""
    if len(samples) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle


class Table:
    """One line for each workload, as soon as it is measured."""

    def __init__(self, peers):
        self.peers = peers
        titles = "".join(f"{title:>15}" for title in peers)
        print(f"{'ms':34}{'kiln':>11}{'spread':>8}{'direct':>11}{titles}" + (f"{'ratio':>8}" if peers else "")
              + f"{'ceiling':>9}")

    @staticmethod
    def ms(value, width):
        return f"{'' if value is None else f'{value:.4f}' if value < 10 else f'{value:.1f}':>{width}}"

    def row(self, entry):
        line = f"{entry['name']:34}{self.ms(entry['ms'], 11)}{entry['spread']:8.0%}{self.ms(entry['reference'], 11)}"
        line += "".join(self.ms(entry["peers"].get(title), 15) for title in self.peers)
        if self.peers:
            line += f"{entry['ratio']:8.2f}" if entry["ratio"] else " " * 8
        print(line + (f"{entry['ceiling']:9.0%}" if entry["ceiling"] else ""), flush=True)


def take_turns(name, runners, seconds, rounds):
    """The samples of each runner, in bursts that alternate."""
    samples = {title: [] for title in runners}
    for _ in range(rounds):
        for title, runner in runners.items():
            samples[title] += runner.burst(name, seconds / rounds)
    return samples


def measure(workload, kiln, reference, peers, machine, options):
    """What the JSON file says of one workload; None if Kiln could not do it."""
    name = workload["name"]
    runners = {"kiln": kiln, **({"direct": reference} if workload["reference"] else {}), **peers}
    samples = take_turns(name, runners, options.seconds, options.rounds)
    medians = {title: statistics.median(taken) for title, taken in samples.items() if taken}
    if "kiln" not in medians:
        return None
    own, others = medians["kiln"], {title: medians[title] for title in peers if title in medians}
    least = least_ms(workload, machine)
    return {"name": name, "ms": own, "spread": spread(samples["kiln"]), "peers": others,
            "ratio": min(others.values()) / own if others else None, "reference": medians.get("direct"),
            "ceiling": least / own if least else None, "peak_mib": kiln.peak_bytes / 2**20}


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def thread_counts(words):
    counts = [int(word) for word in words.split(",")]
    if min(counts) < 1:
        raise ValueError(words)
    return counts


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="", metavar="NAME",
                        help="another device than the processor, as programs name it (cuda), whose workloads are larger")
    parser.add_argument("--peers", nargs="?", const="all", default="", metavar="LIST",
                        help="also PyTorch: eager, compile, on a GPU graph (all of a run as one CUDA graph); without LIST, all")
    parser.add_argument("--burn", metavar="PROGRAM",
                        help="also Burn, by a program that takes `flex --only GROUP --budget SECONDS`")
    parser.add_argument("--onnx", action="store_true", help="networks in ONNX files beside ONNX Runtime; it has --help")
    parser.add_argument("--only", default="", metavar="WORDS",
                        help="workloads that have one of these words in their name; commas between words")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true",
                        help="also in bench/results, by date and machine; bench/results.py draws them over time")
    parser.add_argument("--seconds", type=float, default=1.5, help="for each workload and runner")
    parser.add_argument("--rounds", type=int, default=3, help="turns that these seconds are cut into")
    parser.add_argument("--busy", action="store_true",
                        help="on one thread, and its processor time: for a machine that has other things to do")
    parser.add_argument("--threads", type=thread_counts, default=[], metavar="LIST",
                        help="on each of these numbers of threads, 1,2,4, and how well they are used")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin",
                        help="the folder with bench_suite and its like")
    options = parser.parse_args()
    kinds = ["eager", "compile", *(["graph"] if options.device else [])]
    options.peers = kinds if options.peers == "all" else [word for word in options.peers.split(",") if word]
    if unknown := set(options.peers) - set(kinds):
        parser.error(f"--peers knows {', '.join(kinds)}, not {', '.join(sorted(unknown))}")
    if options.device and (options.busy or options.threads or options.burn):
        parser.error("--busy, --threads and --burn are of the processor; --device is another one")
    return options


def main():
    if "--onnx" in sys.argv:
        python = str(peers_python("torchvision", "onnx", "onnxruntime"))
        os.execv(python, [python, "-B", str(ROOT / "bench" / "onnx" / "suite.py"), *sys.argv[1:]])
    options = arguments()
    program = options.programs / "bench_suite"
    on_device = [f"--device={options.device}"] if options.device else []
    listing = subprocess.run([program, *on_device, "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    words = [word for word in options.only.split(",") if word]
    all_workloads = list(map(json.loads, listing.splitlines()))
    workloads = [workload for workload in all_workloads
                 if not words or any(word in workload["name"] for word in words)]

    clock = ["--busy"] if options.busy else []
    kiln = Kiln(program, *on_device, *clock)
    measured = (lambda: device_rates(kiln, all_workloads)) if options.device else (lambda: rates(options.programs))
    if options.busy:
        os.environ["KILN_THREADS"] = "1"
    machine = {"processor": processor(), "cores": os.cpu_count(), "device": options.device or "cpu", **measured()}
    print(f"{machine['processor']}, {options.device or str(machine['threads']) + ' threads'}: {described(machine)}")
    # oneDNN, and so PyTorch, dies of its first bf16 product on a machine that advertises AMX and lacks its tiles.
    env = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"} if machine["amx_traps"] else {}
    if options.threads:
        entries = scaling.table(workloads, program, options, env)
        if options.json:
            options.json.write_text(json.dumps({"machine": machine, "workloads": entries}, indent=1) + "\n")
        return 0 if len(entries) == len(workloads) * len(options.threads) else 1
    peers = {}
    for kind in options.peers:
        torch = Torch(peers_python(), machine["threads"], env, kind, [*clock, *on_device])
        peers[torch.title] = torch
    if options.burn:
        peers[Burn.title] = Burn(options.burn)

    reference, table, entries = Kiln(program, "--reference", *clock), Table(peers), []
    for workload in workloads:
        if options.device:  # what is called directly, or written by hand, is the processor's
            workload["reference"] = False
        entry = measure(workload, kiln, reference, peers, machine, options)
        if entry:
            table.row(entry)
            entries.append(entry)
        else:
            print(f"{workload['name']:34}     failed")
    for runner in (kiln, reference, *peers.values()):
        runner.close()

    for title in peers:
        both = [entry["peers"][title] / entry["ms"] for entry in entries if title in entry["peers"]]
        if both:
            print(f"{title}: Kiln is {geometric_mean(both):.2f} times as fast (geometric mean of {len(both)} workloads)")
    trained = [entry for entry in entries if "train" in entry["name"]]
    if trained:
        print("peak memory: " + ", ".join(f"{entry['name']} {entry['peak_mib']:.0f} MiB" for entry in trained))
    extra = [] if words or options.device else [{"name": n, "value": v, "unit": u} for n, v, u in figures(options.programs)]
    for figure in extra:
        print(f"{figure['name']}: {figure['value']:.2f} {figure['unit']}")
    machine["after"] = measured()
    print(f"afterwards: {described(machine['after'])}")
    found = {"machine": machine, "workloads": entries, "figures": extra}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.keep and entries:
        print("kept as", results.keep(found, options.busy))
    return 0 if len(entries) == len(workloads) else 1


if __name__ == "__main__":
    sys.exit(main())
