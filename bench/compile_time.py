#!/usr/bin/env python3
"""How long a file takes to compile that includes kiln/kiln.hpp and calls thirty functions, and what that time goes to.

Prints user seconds, the best of several: ./dev bench compile_time [COMPILER...]

./dev bench compile_time models: processor seconds of each source that is compiled again when a header of a model is
edited, as the release build compiles it, the median of three, worst first."""
import json
import os
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from sources import listed, reachable

SOURCE = ROOT / "bench" / "compile_time.cpp"
MODES = {"release": ["-O2", "-DNDEBUG"], "debug": ["-Og", "-g", "-D_GLIBCXX_ASSERTIONS"]}


def times_of(command, times, directory=ROOT):
    """User time and processor time of a few runs."""
    found = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user = after.ru_utime - before.ru_utime
        found.append((user, user + after.ru_stime - before.ru_stime))
    return found


def seconds(command, times=5):
    """The least user time of a few runs."""
    return min(user for user, _ in times_of(command, times))


def of_models():
    """The sources that reach the header of a model, each with its time in the release build."""
    build = ROOT / "build" / "release"
    commands = {entry["file"]: entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
    headers = set(listed("models/*.hpp", "examples/*/model.hpp"))
    found = []
    for source in listed("models/*.cpp", "examples/*.cpp"):
        command = commands.get(str(ROOT / source))
        if command and reachable(source) & headers:
            words = shlex.split(command)
            words[words.index("-o") + 1] = os.devnull
            found.append((statistics.median(total for _, total in times_of(words, 3, build)), source))
    return sorted(found, reverse=True)


def main():
    if sys.argv[1:] == ["models"]:
        for time, source in of_models():
            print(f"{time:6.2f} s  {source}")
        return
    with tempfile.TemporaryDirectory() as directory:
        alone = pathlib.Path(directory) / "alone.cpp"
        for compiler in sys.argv[1:] or ["g++"]:
            base = [compiler, "-std=c++20", f"-I{ROOT}"]
            for mode, flags in MODES.items():
                print(f"{compiler} {mode:8} {seconds([*base, *flags, '-c', SOURCE, '-o', os.devnull]):6.2f} s")
            # What the headers take alone: ours with what they include, and the standard library's among those.
            reached = subprocess.run([*base, "-M", SOURCE], capture_output=True, text=True, check=True).stdout
            ours = re.findall(r"\S*kiln/\S+\.hpp", reached)
            library = sorted({name for header in ours
                              for name in re.findall(r"#include <(\w+)>", pathlib.Path(header).read_text())})
            for title, text in {
                "kiln/kiln.hpp alone": '#include "kiln/kiln.hpp"\n',
                "kiln/tensor/tensor.hpp alone": '#include "kiln/tensor/tensor.hpp"\n',
                "fmt/core.h alone": "#include <fmt/core.h>\n",
                f"{len(library)} standard headers": "".join(f"#include <{name}>\n" for name in library),
            }.items():
                alone.write_text(text)
                print(f"{compiler} {title:32} {seconds([*base, '-fsyntax-only', alone]):6.2f} s")


if __name__ == "__main__":
    main()
