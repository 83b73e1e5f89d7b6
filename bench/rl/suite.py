#!/usr/bin/env python3
"""Reinforcement learning beside Gymnasium and Stable-Baselines3, in turns: ./dev bench rl [--seeds N] [--only WORDS]

bench/README.md says how to read the tables. Where the peers cannot be installed, Kiln is measured alone."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from runners import peers_python  # noqa: E402

PEERS = ROOT / "bench" / "rl" / "peers.py"


def asked(command):
    """A program's line of JSON, on one thread."""
    environment = {**os.environ, "KILN_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(run.stdout.splitlines()[-1])


def sides(options):
    """The commands of Kiln and of its peers, by name."""
    found = {"kiln": [options.program]}
    try:
        found["peer"] = [peers_python("gymnasium", "stable-baselines3"), "-B", PEERS]
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"Without Gymnasium and Stable-Baselines3: {error}", file=sys.stderr)
    return found


def compare_steps(commands, options):
    print("| random policy on CartPoles | kiln | gymnasium | ratio |\n|---|---|---|---|")
    for count in (1, 16):
        rates = {side: [] for side in commands}
        for _ in range(options.rounds):
            for side, command in commands.items():
                rates[side].append(asked([*command, "steps", count, options.seconds])["rate"])
        own, peer = max(rates["kiln"]), max(rates.get("peer", [0]))
        beside = f"{peer:,.0f} | {own / peer:.1f}" if peer else " | "
        print(f"| {count} | {own:,.0f} | {beside} |", flush=True)


def compare_trainings(commands, options):
    names = ["kiln", "stable-baselines3"][:len(commands)]
    titles = ["training", *(f"scores; their median: {name}" for name in names), *(f"seconds: {name}" for name in names),
              "ratio"]
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for agent in ("dqn", "ppo", "sac"):
        if options.only and agent not in options.only:
            continue
        found = {side: [] for side in commands}
        for seed in range(1, options.seeds + 1):
            for side, command in commands.items():
                found[side].append(asked([*command, "train", agent, seed]))
        columns = []
        for runs in found.values():
            scores = [run["score"] for run in runs]
            columns.append((" ".join(f"{score:.0f}" for score in scores), f"{statistics.median(scores):.1f}",
                            statistics.median(run["user"] for run in runs)))
        ratio = f"{columns[-1][2] / columns[0][2]:.1f}" if len(columns) > 1 else ""
        row = [agent, *(f"{scores}; {median}" for scores, median, _ in columns),
               *(f"{used:.1f}" for _, _, used in columns), ratio]
        print(f"| {' | '.join(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each agent")
    parser.add_argument("--only", type=lambda words: words.split(","), help="steps, dqn, ppo, sac; commas between them")
    parser.add_argument("--seconds", type=float, default=3, help="of a round of steps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "bench_rl")
    options = parser.parse_args()
    commands = sides(options)
    if not options.only or "steps" in options.only:
        compare_steps(commands, options)
    if not options.only or set(options.only) - {"steps"}:
        compare_trainings(commands, options)


if __name__ == "__main__":
    main()
