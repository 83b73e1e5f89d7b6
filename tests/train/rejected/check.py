#!/usr/bin/env python3
"""Compiles each program of wrong.cpp by itself, behind prelude.hpp. It must be refused in fewer than 15 lines, the first error must
match the pattern in its head, and a caret or a "required from here" must name a line of the program. A program whose head says
"compiles" must compile, without which the others prove nothing.

    check.py [--show] [--only NAME] c++ -std=c++20 -I.         --show prints what the compiler says"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "wrong.cpp"
LINES = 15
# These functions come from macros, and g++ shows their place three times.
MORE_LINES = {"loss_of_classes_as_floats": 20, "sum_with_a_flag": 20}
LEAST = 30  # programs, so that a pattern that finds none is seen


def programs():
    """(name, what the first error says, source) of each program."""
    parts = re.split(r"^// === (\w+): (.*)\n", SOURCE.read_text(), flags=re.MULTILINE)
    line = parts[0].count("\n") + 2
    for name, pattern, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        yield name, pattern, f'#line {line} "{SOURCE.name}"\n{text}'
        line += text.count("\n") + 1


def precompiled(compiler, folder):
    """Options that read prelude.hpp, compiled once."""
    header = folder / "prelude.hpp"
    header.write_text((HERE / header.name).read_text())
    clang = "clang" in subprocess.run([compiler[0], "--version"], capture_output=True, text=True, check=True).stdout
    made = header.with_name(header.name + (".pch" if clang else ".gch"))
    subprocess.run([*compiler, "-x", "c++-header", header, "-o", made], check=True)
    return ["-include-pch", made] if clang else ["-include", header]


def problem(name, pattern, failed, said):
    """What is wrong with what the compiler said, or nothing."""
    if pattern == "compiles":
        return "does not compile" if failed else ""
    if not failed:
        return "compiles"
    errors = re.findall(r"^.*error:.*$", said, re.MULTILINE)
    if not errors or not re.search(pattern, errors[0]):
        return f"the first error does not match '{pattern}'"
    lines = said.rstrip("\n").split("\n")
    if len(lines) >= MORE_LINES.get(name, LINES):
        return f"takes {len(lines)} lines"
    if not any(line.startswith(f"{SOURCE.name}:") for line in lines):
        return "names no line of the program"
    return ""


def main():
    arguments, show, only = sys.argv[1:], False, ""
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        show, only = show or option == "--show", arguments.pop(0) if option == "--only" else only
    chosen = [program for program in programs() if re.search(only, program[0])]
    if not arguments or (not only and len(chosen) < LEAST):
        sys.exit(__doc__ if not arguments else f"{SOURCE}: only {len(chosen)} programs were found")
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options = precompiled(arguments, folder)
        for name, pattern, text in chosen:
            case = folder / f"{name}.cpp"
            case.write_text(text)
            done = subprocess.run([*arguments, *options, "-fsyntax-only", case], capture_output=True, text=True, check=False)
            found = problem(name, pattern, done.returncode != 0, done.stderr)
            wrong += bool(found)
            if found or show:
                print(f"--- {name}: {found}\n{done.stderr}")
    sys.exit(f"{wrong} of {len(chosen)} programs" if wrong else 0)


if __name__ == "__main__":
    main()
