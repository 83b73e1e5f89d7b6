#!/usr/bin/env python3
"""Writes book/blocks/functions.md: the methods of Tensor and the functions over tensors with their signatures, and one line of
meaning each: the first sentence of the docstring in kiln/tensor/ or in kiln/ops/, the row of elementwise.def, or meanings.py.

tools/docs.py calls it; by itself it prints the page."""
import re
import sys

import facade
import formulas as compared
import meanings
from declarations import declarations, expanded, signature
from facade import ROOT

INTRO = """# All functions of tensors

After this page you know which functions there are, what they take and what they mean.

Written by `./dev docs` from the headers; not by hand. `...` in a type stands for a rank or kind that follows from the operands,
where C++ writes it out; `requires` clauses are left out. `Dim... dims` are as many dimensions as you like, negative ones from
the end. An operand is a tensor or a plain number. [Ops and functions](../../docs/ops.md) says which element types each takes and
which have gradients, [Names](../../docs/names.md) what PyTorch and Burn call them.

Operators: `+ - * / %`, `== != < <= > >=` (elementwise), `& ^ ~ << >> !` and bitwise or, and `+= -= *= /=`. `x(0, s(1, end))` indexes
as Python does ([the first tensor](../start/first-tensor.md)).

## Methods of Tensor
"""
FREE = """
## Functions

`<kiln/tensor.hpp>` has them all. Each elementwise method above is a function, too: `exp(x)` is `x.exp()`, and in `pow(2, x)` the
number comes first.
"""
NEXT = """
## Next

[Tensors](tensors.md) explains ranks, kinds and element types, [gradients](autodiff.md) what derives them, and
[an operation of your own](../custom/op.md) adds what is missing.
"""
SKIPPED = {"custom", "custom_wire", "tensor", "capture", "collective", "named"}  # these have pages of their own
FUNCTIONALS = ("derivative", "vmap")


def sentence(comment):
    """The first sentence, in one line."""
    words = " ".join(comment.split())
    match = re.match(r"(.*?[^.\s][.])(?:\s+[A-Z`({]|$)", words + " ")
    return (match[1] if match else words.rstrip(" :")).replace("|", "&#124;").replace("<", "&lt;")


def functions(path):
    """{section: {name: (signatures, meaning)}} of a header, without calls that are there to be refused."""
    found = {}
    for section, doc, declaration in declarations(expanded(path.read_text(), {})):
        if "deprecated" in declaration or "Refused" in declaration or not (pair := signature(declaration)):
            continue
        signatures, said = found.setdefault(section, {}).setdefault(pair[0], ([], []))
        if pair[1] not in signatures:
            signatures.append(pair[1])
        if doc:
            said.append(sentence(doc))
    return found


def documented():
    """{name: a sentence} from the headers of kiln/ops."""
    found = {}
    for name in facade.value_functions():
        for section in functions(ROOT / name).values():
            for function, (_, said) in section.items():
                if said:
                    found.setdefault(function, said[0])
    return found


def formulas():
    """{name: what elementwise.def computes}, where that says more than the name and is short."""
    found = {}
    for row in (ROOT / "kiln/ops/elementwise/elementwise.def").read_text().split("\n"):
        if re.match(r"KILN_(UNARY|BINARY|PREDICATE|COMPARISON)\(\w", row):
            name, _, value = (cell.strip() for cell in facade.columns(row)[1:4])
            if f"{name}(x" not in value and "|" not in value and len(value) < 100:
                found[name] = f"`{value}`"
    return found


def said_of(name, own, known):
    """An example of the results' names in place of a sentence says too little."""
    return next((words for words in own if not words.startswith("auto [") or name not in known), known.get(name, ""))


def table(rows, known):
    lines = "".join(f"| {'<br>'.join(f'`{s}`' for s in signatures)} | {said_of(name, own, known)} |\n"
                    for name, (signatures, own) in rows.items())
    return f"\n| function | meaning |\n|---|---|\n{lines}" if lines else ""


def heading(section):
    """`reductions: x.sum() over ...` -> Reductions"""
    words = re.split(r"[:;]", section)[0].strip()
    return words[:1].upper() + words[1:]


def methods():
    """{section: {name: row}} of class Tensor."""
    wanted = set(facade.methods())
    for section, rows in functions(ROOT / "kiln/tensor/tensor.hpp").items():
        yield section, {name: row for name, row in rows.items() if name in wanted}


def free_functions():
    """{header: {name: row}}, without those that are methods of elementwise names as well."""
    for path in [*sorted((ROOT / "kiln/tensor").glob("*.hpp")), *(ROOT / f"kiln/tensor/function/{name}.hpp" for name in FUNCTIONALS)]:
        if path.stem in SKIPPED:
            continue
        rows = {}
        for section in functions(path).values():
            for name, (signatures, own) in section.items():
                if path.stem not in ("arithmetic", "elementwise") or name not in facade.named():
                    known = rows.setdefault(name, ([], []))
                    known[0].extend(s for s in signatures if s not in known[0])
                    known[1].extend(own)
        yield path.relative_to(ROOT).as_posix(), rows


def page():
    """The page's text."""
    ops, both = documented(), meanings.lines(meanings.BOTH)
    known = {**ops, **formulas(), **both, **meanings.lines(meanings.METHODS)}
    text = INTRO
    for section, rows in methods():
        if shown := table(rows, known):
            text += f"\n### {heading(section)}\n{shown}"
    text += FREE
    known = {**formulas(), **ops, **both}
    for header, rows in free_functions():
        if shown := table(rows, known):
            text += f"\n### {header.removeprefix('kiln/')}\n{shown}"
    return text + NEXT


def wrong(text):
    """Functions that the page says nothing about, meanings that no function needs, and formulas that are not what a row computes."""
    for signatures in re.findall(r"^\| (.*) \|  \|$", text, re.MULTILINE):
        yield f"tools/meanings.py: says nothing about {signatures}, whose headers have no docstring"
    said = set(re.findall(r"\| ([^|]*) \|$", text, re.MULTILINE))
    for name, meaning in [*meanings.lines(meanings.METHODS).items(), *meanings.lines(meanings.BOTH).items()]:
        if meaning not in said:
            yield f"tools/meanings.py: {name} is not needed"
    yield from compared.wrong()


if __name__ == "__main__":
    print(text := page(), end="")
    print(*wrong(text), sep="\n", file=sys.stderr)
