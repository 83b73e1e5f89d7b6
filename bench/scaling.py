"""The scaling table: ./dev bench --threads 1,2,4 [--peers [LIST]] [--only WORDS] [--json FILE]

A line for each workload and number of threads: Kiln and its peers, how well Kiln's cores are used, and the operation that
keeps them from being used better. bench/README.md says how to read it."""
import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from runners import Kiln, Torch, peers_python


def own_times(trace):
    """Seconds of each operation in a trace of KILN_PROFILE, without those of operations that were called from within."""
    took = collections.Counter()
    open_events = collections.defaultdict(list)  # of each thread, from the outside in: (end, name)
    for event in sorted((e for e in trace if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
        outer = open_events[event["tid"]]
        while outer and outer[-1][0] <= event["ts"]:
            outer.pop()
        if outer:
            took[outer[-1][1]] -= event["dur"] / 1e6
        outer.append((event["ts"] + event["dur"], event["name"]))
        took[event["name"]] += event["dur"] / 1e6
    return took


def shares(program, name, threads):
    """What part of a workload's time each operation takes on so many threads."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        subprocess.run([program, name, "0.5"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "KILN_THREADS": str(threads), "KILN_PROFILE": str(trace)})
        took = own_times(json.loads(trace.read_text())["traceEvents"])
    whole = sum(took.values())
    return {operation: seconds / whole for operation, seconds in took.items()} if whole > 0 else {}


def limit(one, many, one_shares, many_shares, threads):
    """The operation that loses most of the cores' time, and its part of all that is lost; None where nothing is."""
    lost = {name: share * many * threads - one_shares.get(name, 0) * one for name, share in many_shares.items()}
    whole = sum(seconds for seconds in lost.values() if seconds > 0)
    if whole <= 0.05 * one:
        return None
    worst = max(lost, key=lost.get)
    return worst, lost[worst] / whole


class Crew:
    """Kiln and its peers on so many threads."""

    def __init__(self, program, threads, options, env):
        self.runners = {"kiln": Kiln(program, env={"KILN_THREADS": str(threads)})}
        for kind in options.peers:
            torch = Torch(peers_python(), threads, env, kind, [])
            self.runners[torch.title] = torch


def measure(name, crews, options):
    """{threads: {title: median in ms}}; all take turns."""
    samples = collections.defaultdict(list)
    for _ in range(options.rounds):
        for threads, crew in crews.items():
            for title, runner in crew.runners.items():
                samples[threads, title] += runner.burst(name, options.seconds / options.rounds)
    medians = collections.defaultdict(dict)
    for (threads, title), taken in samples.items():
        if taken:
            medians[threads][title] = statistics.median(taken)
    return medians


def ms(value):
    return f"{'' if value is None else f'{value:.4f}' if value < 10 else f'{value:.1f}':>15}"


def table(workloads, program, options, env):
    """Prints the table; its entries."""
    crews = {threads: Crew(program, threads, options, env) for threads in options.threads}
    peers = [title for title in next(iter(crews.values())).runners if title != "kiln"]
    print(f"{'ms':34}{'threads':>8}{'kiln':>15}" + "".join(f"{title:>15}" for title in peers)
          + (f"{'ratio':>8}" if peers else "") + f"{'efficiency':>12}  most is lost in")
    entries = []
    for workload in workloads:
        name = workload["name"]
        medians = measure(name, crews, options)
        least = min(options.threads)
        own = {threads: taken["kiln"] for threads, taken in medians.items() if "kiln" in taken}
        if len(own) < len(crews):
            print(f"{name:34}  failed")
            continue
        first_shares = shares(program, name, least)
        for threads in options.threads:
            others = {title: medians[threads][title] for title in peers if title in medians[threads]}
            entry = {"name": name, "threads": threads, "ms": own[threads], "peers": others,
                     "ratio": min(others.values()) / own[threads] if others else None,
                     "efficiency": own[least] * least / (own[threads] * threads), "limit": None}
            if threads > least:
                found = shares(program, name, threads)
                entry["limit"] = limit(own[least] * least, own[threads], first_shares, found, threads)
            line = f"{name:34}{threads:8}{ms(own[threads])}" + "".join(ms(others.get(title)) for title in peers)
            if peers:
                line += f"{entry['ratio']:8.2f}" if entry["ratio"] else " " * 8
            line += f"{entry['efficiency']:12.0%}"
            print(line + ("  {} ({:.0%})".format(*entry["limit"]) if entry["limit"] else ""), flush=True)
            entries.append(entry)
    for crew in crews.values():
        for runner in crew.runners.values():
            runner.close()
    return entries
