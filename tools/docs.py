#!/usr/bin/env python3
"""Writes docs/ops.md from what the rows of tests/ops/ find out, book/blocks/functions.md and docs/config-fields.md from the
headers, and compares docs/names.md with the headers.

`./dev docs` runs it; with --check it changes nothing and says what is out of date."""
import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

import configs_page
import facade
import functions_page
from facade import ROOT

FLOATS = {"float64", "float32", "float16", "bfloat16"}
INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
ORDERS = {0: "", 1: "first", 2: "yes"}

INTRO = """# Ops and functions

Written by `./dev docs` from what the rows of `tests/ops/` find out when they run; not by hand.

Element types are those that a call takes: `float` is float64, float32, float16 and bfloat16, `int` the eight integer
types. `gradient` says `yes` where a function can be differentiated as often as one likes, `first` where its gradient
has no gradient of its own. A function that is constant between jumps has a gradient, too, and it is zero.

## Ops

What backends run. On `cpu` a call goes to the first kernel of the list that takes its operands; `plain` is the
reference kernel, which takes all. The devices `reference` and, in builds for them, `wasi` and `cortex-m7` have the plain
kernels alone. `composed` ops are run as what they are made of where there is no kernel.

| op | element types | gradient | cpu | reference, wasi, cortex-m7 |
|---|---|---|---|---|
"""
FUNCTIONS = """
## Functions

What programs call, by header. `made of` names the ops that a call runs. Columns are empty where a function is tested
elsewhere, or in rows that bear other names.

"""


def record(program):
    """The rows and the ops, as dictionaries by name."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([program, "--gtest_filter=Record.*", "--gtest_brief=1"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "KILN_RECORD": file.name, "GTEST_TOTAL_SHARDS": "1", "GTEST_SHARD_INDEX": "0"})
        lines = [line.split("\t") for line in file.read().decode().splitlines()]
    as_set = {"-": set()}
    found = {"row": {}, "op": {}}
    for kind, name, second, types, orders in lines:
        found[kind][name] = tuple(as_set.get(x) or set(x.split(",")) - {"-"} for x in (second, types)) + (int(orders),)
    return found["row"], found["op"]


def said(types):
    """float, int, bool: groups of element types, or single ones where a group is not complete."""
    words = []
    for word, group in (("float", FLOATS), ("int", INTEGERS), ("bool", {"bool"})):
        words += [word] if group <= types else sorted(group & types)
    return ", ".join(words)


def rows_by_function(rows, functions):
    """Rows are named after their function: `sum_last` is of `sum`, `int_add` of `add`."""
    of = {}
    for row in rows:
        plain = row.removeprefix("int_")
        names = [name for name in functions if plain == name or plain.startswith(name + "_")]
        if names:
            of.setdefault(max(names, key=len), []).append(row)
    return of


def ops_page(program):
    rows, ops = record(program)
    page = INTRO
    for name, (kernels, types, orders) in sorted(ops.items()):
        composed = "plain" not in kernels
        cpu = ", ".join(k for k in ("matmul", "conv", "integer", "lapack", "simd", "plain") if k in kernels) or "composed"
        page += f"| `{name}` | {said(types)} | {ORDERS[orders]} | {cpu} | {'composed' if composed else 'plain'} |\n"
    page += FUNCTIONS
    headers = facade.value_functions()
    of = rows_by_function(rows, {name for names in headers.values() for name in names})
    for header, names in sorted(headers.items()):
        shown = sorted(set(names) - facade.slopes() | set(names) & set(facade.elementwise()))
        if not shown:
            continue
        page += f"### {header}\n\n| function | element types | gradient | made of |\n|---|---|---|---|\n"
        for name in shown:
            own = [rows[row] for row in of.get(name, [])]
            if not own and name in ops:  # its rows bear other names
                own = [({name}, *ops[name][1:])]
            made = set.union(*(row[0] for row in own)) if own else set()
            types = set.union(*(row[1] for row in own)) if own else set()
            orders = ORDERS[max((row[2] for row in own), default=0)]
            parts = ", ".join(f"`{op}`" for op in sorted(made)) if made != {name} else "itself"
            page += f"| `{name}` | {said(types)} | {orders} | {parts} |\n"
        page += "\n"
    return page.rstrip() + "\n"


def unknown_names():
    """Names of docs/names.md's last column that no header declares."""
    known = set(facade.methods())
    for header in ("kiln/autodiff/backward.hpp", "kiln/core/limits.hpp", "kiln/core/system/system_seed.hpp",
                   "kiln/ops/devices.hpp", "kiln/ops/read.hpp"):
        known.update(facade.declared(ROOT / header))
    for names in [*facade.value_functions().values(), *facade.typed_functions().values()]:
        known.update(names)
    of_functions = True  # not of headers and components
    for number, line in enumerate((ROOT / "docs/names.md").read_text().split("\n"), 1):
        if line == "## Around a training":  # tools/names.py compiles those
            return
        if not line.startswith("|"):
            of_functions = True
        elif line.startswith("| header |"):
            of_functions = False
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or not of_functions or len(cells) < 3 or set(cells[2]) <= set("-") or cells[2].startswith("—"):
            continue
        for name in re.findall(r"`(?:\w+::)*(?:\w*\.)?(\w+)(?:\([^`]*\))?`", cells[2]):
            if name not in known:
                yield f"docs/names.md:{number}: no header declares {name}"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--program", required=True, help="the built test_ops")
    options.add_argument("--check", action="store_true")
    chosen = options.parse_args()
    table = functions_page.page()
    wrong = [*unknown_names(), *functions_page.wrong(table)]
    for name, page in {"docs/ops.md": ops_page(chosen.program), "book/blocks/functions.md": table,
                       "docs/config-fields.md": configs_page.page()}.items():
        path = ROOT / name
        if chosen.check:
            before = path.read_text().splitlines() if path.exists() else []
            changes = list(difflib.unified_diff(before, page.splitlines(), name, "what it should be", lineterm="", n=0))
            wrong += [*changes[:40], f"./dev docs brings {name} up to date"] if changes else []
        else:
            path.write_text(page)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
