#!/usr/bin/env python3
"""Breaks kiln/ on purpose, a place at a time, and looks whether a test notices.

Nothing of the checkout is touched: a broken file lies in a folder of its own that the compiler looks into first, only
what includes it is compiled, and the tests that can see it are linked with these objects in place of the sound ones.
A change that does not compile, or that gives the same object files, does not count.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutations
from sources import ROOT, includes, reachable

COLUMNS = "name folder status by seconds before after".split()
# Names of scalar functions; who includes these headers alone sees no change of a row's value or gradient.
ONLY_NAMES = {"kiln/ops/elementwise/enumerators.hpp", "kiln/ops/elementwise/rows.hpp",
              "kiln/tensor/elementwise.hpp"}


class Build:
    """The sound build: who includes what, and how each object and program is made."""

    def __init__(self, folder):
        self.folder = folder
        self.commands, self.object_of = {}, {}
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            made = words[words.index("-o") + 1]
            source = str(pathlib.Path(entry["file"]))
            self.commands[made] = (words, source)
        self.users = collections.defaultdict(set)
        made = None
        for line in self.ninja("-t", "deps").split("\n"):
            if line and not line.startswith(" "):
                made = line.split(":")[0]
            elif line.strip():
                path = pathlib.Path(os.path.normpath(folder / line.strip()))
                if path.is_relative_to(ROOT):
                    self.users[str(path.relative_to(ROOT))].add(made)
        self.links = {}

    def ninja(self, *arguments):
        return subprocess.run(["ninja", "-C", self.folder, *arguments], capture_output=True, text=True).stdout

    def programs(self):
        return set(re.findall(r"^test_(\w+): phony", self.ninja("-t", "targets", "all"), re.MULTILINE))

    def link(self, program):
        """The words of the command that links a test program."""
        if program not in self.links:
            last = self.ninja("-t", "commands", f"test_{program}").strip().split("\n")[-1]
            self.links[program] = shlex.split(next(part for part in last.split(" && ") if " -o " in part))
        return self.links[program]

    def objects(self, path):
        """Objects of the library and of the tests that a change of the file can alter."""
        users = self.users[path]
        if path.endswith(".def"):
            users = {made for made in users if self.reads_rows(self.commands[made][1], path)}
        return tuple({made for made in users if made.startswith(folder)} for folder in ("kiln/", "tests/"))

    @staticmethod
    def reads_rows(source, path):
        reached = reachable(pathlib.Path(source).relative_to(ROOT))
        readers = [file for file in reached if any(str(used) == path for _, used in includes(file))]
        return any(str(file) not in ONLY_NAMES for file in readers)

    def programs_for(self, path, most):
        """The programs that see the file's folder, but those that would take more than `most` compilations."""
        folder = mutations.Mutation(path, 0, "", "", "").folder
        library, tests = self.objects(path)
        if not folder or len(library) > most:
            return []
        fitting = []
        for program in mutations.FOLDERS[folder][1].split():
            if program in self.available:
                own = tests & set(self.link(program))
                if len(own) + len(library) <= most and (own or library):
                    fitting.append(program)
        return fitting


class Run:
    def __init__(self, options, build):
        self.options, self.build = options, build
        self.deadline = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.learning = {}  # program: what learn() is doing
        self.done = {}  # by name; what the sound programs do is there as sound/PROGRAM
        if options.state.exists():
            for line in options.state.read_text().split("\n")[1:]:
                if line.count("\t") == len(COLUMNS) - 1:
                    row = dict(zip(COLUMNS, line.split("\t")))
                    self.done[row["name"]] = row
        else:
            options.state.write_text("\t".join(COLUMNS) + "\n")

    def note(self, **row):
        row = {key: str(value).replace("\t", " ") for key, value in row.items()}
        with self.lock:
            self.done[row["name"]] = row
            with self.options.state.open("a") as out:
                out.write("\t".join(row[column] for column in COLUMNS) + "\n")

    def call(self, command, folder, limit, **variables):
        """(status, output); status None: the time is over."""
        limit = min(limit, self.deadline - time.monotonic())
        memory = int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / self.options.jobs)
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True, env={**os.environ, **variables},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (max(memory, 4 << 30),) * 2))
        try:
            output, _ = process.communicate(timeout=max(limit, 0.01))
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output

    def test(self, binary, folder, chosen, limit, **variables):
        return self.call([binary, f"--gtest_filter={chosen}"], folder, limit, GTEST_BRIEF="1", TMPDIR=str(folder),
                         KILN_THREADS=os.environ.get("KILN_THREADS", "2"), OMP_NUM_THREADS="2", **variables)

    def learn(self, program, folder):
        """How long the sound program takes, and what fails in it on this machine."""
        name = f"sound/{program}"
        if name not in self.done:
            start = time.monotonic()
            binary = self.build.folder / self.build.link(program)[self.build.link(program).index("-o") + 1]
            status, output = self.test(binary, folder, "*", 900)
            if status is None or (status and not failed(output)):
                print(f"test_{program} does not run here: {output[-300:]}", file=sys.stderr)
                if time.monotonic() < self.deadline:
                    self.note(name=name, folder="", status="unusable", by="", seconds=0, before="", after="")
                return
            self.note(name=name, folder="", status="sound", by=":".join(failed(output)),
                      seconds=round(time.monotonic() - start, 1), before="", after="")

    def usable(self, program):
        self.learning[program].result()
        return self.done.get(f"sound/{program}", {}).get("status") == "sound"

    def judge(self, mutation):
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutate-", dir=self.options.work) as folder:
            verdict = self.verdict(mutation, pathlib.Path(folder))
        if verdict and time.monotonic() < self.deadline:
            status, by = verdict
            self.note(name=mutation.name, folder=mutation.folder, status=status, by=by,
                      seconds=round(time.monotonic() - start, 1), before=mutation.before.strip(),
                      after=mutation.after.strip())
            if status == "survived":
                print(f"survived: {mutation.path}:{mutation.line}\n  - {mutation.before.strip()}\n  + "
                      f"{mutation.after.strip()}", flush=True)

    def verdict(self, mutation, folder):
        library, tests = self.build.objects(mutation.path)
        broken = folder / mutation.path
        broken.parent.mkdir(parents=True)
        lines = (ROOT / mutation.path).read_text().split("\n")
        lines[mutation.line - 1] = mutation.after
        broken.write_text("\n".join(lines))

        made, tried, differs = {}, [], False
        for sound in sorted(library):
            made[sound] = self.compiled(sound, mutation, folder)
            if not made[sound]:
                return "does not compile", ""
            differs |= made[sound].read_bytes() != (self.build.folder / sound).read_bytes()
        for program in self.build.programs_for(mutation.path, self.options.most):
            own = dict(made)
            for sound in sorted(tests & set(self.build.link(program))):
                own[sound] = made.get(sound) or self.compiled(sound, mutation, folder)
                if not own[sound]:
                    return "does not compile", ""
                differs |= own[sound].read_bytes() != (self.build.folder / sound).read_bytes()
            made.update(own)
            if not differs or not self.usable(program):
                continue
            binary = folder / f"test_{program}"
            link = self.linked(program, own, binary)
            if not link or self.call(link, self.build.folder, 300)[0] != 0:
                continue
            tried.append(program)
            if by := self.killer(program, binary, folder, mutation):
                return "killed", by
            binary.unlink()
        if tried:
            return "survived", " ".join(tried)
        return ("unseen" if differs else "the same"), ""

    def compiled(self, sound, mutation, folder):
        words, source = self.build.commands[sound]
        made = folder / sound
        made.parent.mkdir(parents=True, exist_ok=True)
        words = [words[0], f"-I{folder}", "-w", *words[1:]]
        words[words.index("-o") + 1] = str(made)
        if pathlib.Path(source) == ROOT / mutation.path:
            words[words.index(source)] = str(folder / mutation.path)
        return made if self.call(words, self.build.folder, 600)[0] == 0 else None

    def linked(self, program, made, binary):
        words = list(self.build.link(program))
        words[words.index("-o") + 1] = str(binary)
        archives = {pathlib.Path(word).name for word in words if word.endswith(".a")}
        extra = [str(path) for sound, path in made.items()
                 if f"lib{re.search(r'CMakeFiles/(.+)[.]dir/', sound)[1]}.a" in archives]
        if not extra and not made.keys() & set(words):
            return None
        words = [str(made.get(word, word)) for word in words]
        # Before the libraries: what the program asks of a broken file is there already.
        at = words.index("-o")
        return words[:at] + extra + words[at:]

    def killer(self, program, binary, folder, mutation):
        """What fails in a broken program; nothing if all passes."""
        row = self.done[f"sound/{program}"]
        limit, known = 20 + 4 * float(row["seconds"]), row["by"]
        words = pathlib.Path(mutation.path).stem.split("_")
        if mutation.path.endswith(".def"):
            words = [(re.search(r"KILN_\w+\(\w+, (\w+)", mutation.before) or re.search(r"(\w+)", mutation.before))[1]]
        near = ":".join(f"*{w}*:*{w.capitalize()}*" for w in words if len(w) > 2) or "*"
        for chosen in (f"{near}-{known}", f"*-{near}:{known}"):
            status, output = self.test(binary, folder, chosen, limit, GTEST_FAIL_FAST="1")
            if status is None:
                return f"{program}: time is over"
            if status:
                return f"{program}: {(failed(output) or [f'ends with {status}'])[0]}"
        return ""


def failed(output):
    """The tests that a GoogleTest program says failed."""
    return list(dict.fromkeys(re.findall(r"\[  FAILED  \] ([\w./]+)", output)))


def report(rows):
    counted = collections.defaultdict(collections.Counter)
    for row in rows:
        if row["folder"]:
            counted[row["folder"]][row["status"]] += 1
    print(f"\n{'folder':32}{'killed':>8}{'survived':>10}{'share':>8}   not counted")
    def line(name, counts):
        judged = counts["killed"] + counts["survived"]
        share = f"{100 * counts['survived'] / judged:.1f} %" if judged else "-"
        rest = ", ".join(f"{n} {status}" for status, n in counts.items() if status not in ("killed", "survived"))
        print(f"{name:32}{counts['killed']:8}{counts['survived']:10}{share:>8}   {rest}")
    for folder in mutations.FOLDERS:
        if folder in counted:
            line(folder, counted[folder])
    line("kernels and gradients", sum((c for f, c in counted.items() if f.startswith(mutations.KERNELS_AND_GRADIENTS)),
                                      collections.Counter()))
    line("all", sum(counted.values(), collections.Counter()))


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="places to break (200)")
    parser.add_argument("--seed", type=int, default=1, help="which places (1)")
    parser.add_argument("--only", nargs="+", default=["kiln/"], metavar="PATH",
                        help="under these folders or files alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="places at a time (the cores)")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long; the same command goes on later")
    parser.add_argument("--state", type=pathlib.Path, default=ROOT / "build" / "mutations.tsv",
                        help="what is known so far, a line for each place (build/mutations.tsv)")
    parser.add_argument("--again", action="store_true", help="judge those that survived once more")
    parser.add_argument("--most", type=int, default=16, help="leave out files that more objects depend on (16)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "separate", help="a build of the tests")
    parser.add_argument("--work", type=pathlib.Path, default=None, help="folder for what is compiled")
    parser.add_argument("--list", action="store_true", help="print the places and stop")
    options = parser.parse_args()

    build = Build(options.build.resolve())
    wanted = {p for _, programs in mutations.FOLDERS.values() for p in programs.split()} & build.programs()
    build.available = {p for p in wanted if (build.folder / build.link(p)[build.link(p).index("-o") + 1]).exists()}
    chosen = mutations.drawn(options.count, options.seed, options.only, lambda p: build.programs_for(p, options.most))
    if options.list:
        for mutation in chosen:
            print(f"{mutation.path}:{mutation.line} [{mutation.kind}]\n  - {mutation.before.strip()}\n"
                  f"  + {mutation.after.strip()}")
        return
    run = Run(options, build)
    if options.again:
        run.done = {name: row for name, row in run.done.items() if row["status"] != "survived"}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, \
            tempfile.TemporaryDirectory(prefix="mutate-", dir=options.work) as folder:
        needed = {p for m in chosen if m.name not in run.done for p in build.programs_for(m.path, options.most)}
        run.learning = {p: pool.submit(run.learn, p, folder) for p in sorted(needed, key=lambda p: p != "ops")}
        left = [m for m in chosen if m.name not in run.done]
        futures = [pool.submit(lambda m: run.judge(m) if time.monotonic() < run.deadline else None, m) for m in left]
        for future in concurrent.futures.as_completed(futures):
            future.result()
    judged = [run.done[m.name] for m in chosen if m.name in run.done]
    report(judged)
    print(f"{len(judged)} of {len(chosen)} places; {options.state}")


if __name__ == "__main__":
    main()
