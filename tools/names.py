#!/usr/bin/env python3
"""Compiles every name of docs/names.md: `.name` must be a method of Tensor, `name()` a function of namespace kiln and no method.

    tools/names.py c++ -std=c++20 -I."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("kiln/kiln.hpp", "kiln/autodiff/backward.hpp", "kiln/core/limits.hpp", "kiln/core/system/system_seed.hpp",
           "kiln/data.hpp", "kiln/nn/layer_outputs.hpp", "kiln/ops/devices.hpp", "kiln/ops/read.hpp", "kiln/train.hpp", "kiln/vision.hpp")


def names():
    """(line, name, whether it is called a method), once for each name."""
    seen = {}
    for number, line in enumerate((ROOT / "docs/names.md").read_text().split("\n"), 1):
        cells = line.split("|")
        if not line.startswith("|") or len(cells) < 5 or cells[3].strip().startswith("—"):
            continue
        for dot, name, call in re.findall(r"`(\.?)(\w+)(\(\))?`", cells[3]):
            if dot or call:
                seen.setdefault((name, bool(dot)), number)
    return [(number, name, method) for (name, method), number in seen.items()]


def program(rows):
    """A source that compiles where all rows are right. A name that a base has besides `Name` is ambiguous."""
    lines = [f'#include "{header}"' for header in HEADERS]
    for number, name, method in rows:
        lines += [f'#line {number} "docs/names.md"',
                  f"namespace probe_{name}_{int(method)} {{ struct Name {{ int {name}; }}; struct Both : kiln::Tensor<2>, Name {{}}; "
                  f"template <class T> concept Free = requires(T t) {{ t.{name}; }}; "
                  f'static_assert({"!" if method else ""}Free<Both>, "{name} is {"no" if method else "a"} method of Tensor"); '
                  f'{"" if method else f"using kiln::{name};"} }}']
    return "\n".join(lines) + "\n"


def main():
    rows = names()
    if len(rows) < 400:
        sys.exit(f"docs/names.md: only {len(rows)} names were found")
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(program(rows))
        source.flush()
        sys.exit(subprocess.run([*sys.argv[1:], "-fsyntax-only", source.name], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
