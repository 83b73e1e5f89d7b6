"""Kiln and its peers, each as something that measures a workload in short bursts, so that they can take turns."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Server:
    """A program that answers each line of its standard input with a line of JSON."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(list(map(str, command)), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **(env or {})})

    def ask(self, line):
        """The answer, or None if the program is gone; what it had to say went to standard error."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        return json.loads(answer) if answer else None

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


class Kiln:
    """bench_suite, in a process of its own for each workload."""

    def __init__(self, program, *options, env=None):
        self.program, self.options, self.env = program, options, env
        self.name, self.server, self.peak_bytes = None, None, 0

    def burst(self, name, seconds):
        if name != self.name:
            self.close()
            self.name, self.server = name, Server([self.program, *self.options, name, "-"], self.env)
        answer = self.server.ask(str(seconds)) or {"samples": [], "peak_bytes": 0}
        self.peak_bytes = answer["peak_bytes"]
        return answer["samples"]

    def close(self):
        if self.server:
            self.server.close()
        self.name = self.server = None


class Torch:
    """PyTorch, in one process for all workloads: it takes seconds to start."""

    KINDS = {"eager": [], "compile": ["--compile"], "graph": ["--graph"]}  # the last one of a GPU alone

    def __init__(self, python, threads, env, kind, options):
        options = [*options, *self.KINDS[kind]]
        self.command = [python, "-B", ROOT / "bench" / "peers" / "torch_suite.py", *options, "--threads", threads, "-"]
        self.env, self.server, self.title = env, None, f"torch {kind}"

    def burst(self, name, seconds):
        self.server = self.server or Server(self.command, self.env)
        answer = self.server.ask(f"{seconds} {name}")
        if answer is None:  # it died of this workload; the next one gets another
            self.close()
            answer = {"samples": [], "error": "the program ended"}
        if "error" in answer:
            print(f"{self.title}: {name}: {answer['error']}", file=sys.stderr)
        return answer["samples"]

    def close(self):
        if self.server:
            self.server.close()
        self.server = None


class Burn:
    """A program that prints `NAME BACKEND MEDIAN ms ...` for each workload of the group that --only names."""

    title = "burn"
    LINE = re.compile(r"^(.+?)\s+flex\s+([0-9.]+) ms")
    GROUPS = [("matmul", "matmul"), ("sdpa", "attention"), ("small", "overhead"), ("mnist", "mnist"), ("gpt", "gpt"),
              ("resnet", "resnet"), ("lstm", "lstm"), ("copy", "elementwise"), ("add", "elementwise"),
              ("gelu", "elementwise"), ("bias", "elementwise"), ("", "reduce")]

    def __init__(self, program):
        self.program, self.medians = program, {}

    def burst(self, name, seconds):
        """Burn's own median, measured when the first workload of its group is."""
        group = next(group for start, group in self.GROUPS if name.startswith(start))
        if group not in self.medians:
            command = [self.program, "flex", "--only", group, "--budget", str(seconds)]
            lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
            self.medians[group] = {match[1]: float(match[2]) for match in map(self.LINE.match, lines) if match}
        median = self.medians[group].get(name)
        return [] if median is None else [median]

    def close(self):
        pass


def peers_python(*more):
    """Python with PyTorch and `more` packages: that of the environment's KILN_PEERS_PYTHON, or of build/peers, which is
    made if need be."""
    if chosen := os.environ.get("KILN_PEERS_PYTHON"):
        return chosen
    place = ROOT / "build" / "peers"
    python, complete = place / "bin" / "python", place / "-".join(["complete", *more])
    if not complete.exists():
        print("Installing PyTorch in build/peers; this downloads some gigabytes.", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch", "numpy", *more], check=True)
        complete.touch()
    return python
