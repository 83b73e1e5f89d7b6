#!/usr/bin/env python3
"""How long a file takes to compile that includes kiln/kiln.hpp and calls thirty functions, and what that time goes to.

Prints user seconds, the best of several: ./dev bench compile_time [COMPILER...]"""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bench" / "compile_time.cpp"
MODES = {"release": ["-O2", "-DNDEBUG"], "debug": ["-Og", "-g", "-D_GLIBCXX_ASSERTIONS"]}


def seconds(command, times=5):
    """The least user time of a few runs."""
    best = float("inf")
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return best


def main():
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
