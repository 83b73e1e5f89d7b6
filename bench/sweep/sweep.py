#!/usr/bin/env python3
"""The sweep: ./dev bench sweep [--only WORDS] [--json FILE]

Calls all over the library beside PyTorch, eager, on one thread and by processor time; what is slower comes first."""

import argparse
import json
import os
import pathlib
import statistics
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent)]

from calls import calls  # noqa: E402
from runners import ROOT, Server, peers_python  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench sweep", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="calls that begin with one of these words; commas between"
    )
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="gets a line a call as it is measured")
    parser.add_argument("--seconds", type=float, default=0.03, help="for each call, side and round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--worst", type=int, default=60, help="how many calls to print")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    return parser.parse_args()


def asked(side, line, command, env):
    """An answer; a side that died of a call is started again for the next."""
    answer = side[0].ask(line)
    if answer is None:
        side[0].close()
        side[0] = Server(command, env)
        answer = {"error": "the program ended"}
    return answer


def measured(call, sides, options):
    """The least of some medians for each side: what a busy machine adds is never less than nothing."""
    times = {title: [] for title in sides}
    for _ in range(options.rounds):
        for title, (side, command, env) in sides.items():
            answer = asked(side, f"{options.seconds} {call}", command, env)
            if "error" in answer:
                return {"call": call, "failed": title, "error": answer["error"]}
            times[title].append(answer["ms"])
    least = {title: min(found) for title, found in times.items()}
    return {"call": call, **least, "ratio": least["torch"] / least["kiln"]}


def main():
    options = arguments()
    words = tuple(word for word in options.only.split(",") if word)
    env = {"KILN_THREADS": "1", "OMP_NUM_THREADS": "1"}
    commands = {
        "kiln": ([options.programs / "bench_sweep"], env),
        "torch": ([peers_python(), "-B", ROOT / "bench" / "peers" / "torch_sweep.py"], env),
    }
    sides = {title: ([Server(*command)], *command) for title, command in commands.items()}
    found, failed = [], []
    record = options.json.open("w", buffering=1) if options.json else None
    for call in calls():
        if words and not call.startswith(words):
            continue
        row = measured(call, sides, options)
        (failed if "failed" in row else found).append(row)
        if record:
            print(json.dumps(row), file=record)
    for side, *_ in sides.values():
        side[0].close()
    found.sort(key=lambda row: row["ratio"])
    print(f"{'ms':90}{'kiln':>10}{'torch':>10}{'ratio':>8}")
    for row in found[: options.worst]:
        print(f"{row['call']:90}{row['kiln']:10.4f}{row['torch']:10.4f}{row['ratio']:8.2f}")
    for row in failed:
        print(f"not measured: {row['call']}: {row['failed']}: {row['error']}")
    if found:
        ratios = [row["ratio"] for row in found]
        mean = statistics.geometric_mean(ratios)
        below = [sum(ratio < limit for ratio in ratios) for limit in (0.9, 0.5)]
        print(
            f"{len(found)} calls, load {os.getloadavg()[0]:.1f}: Kiln is {mean:.2f} times as fast (geometric mean); "
            f"{below[0]} calls ({below[0] / len(found):.1%}) below 0.9, {below[1]} below 0.5"
        )


main()
