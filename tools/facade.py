#!/usr/bin/env python3
"""The public functions, and which of them no test calls.

What is public is read from the headers: the functions of kiln/ops/functions.hpp and of the chapters beside it, the free
functions of kiln/tensor/ and the methods of Tensor. What is called is read from the symbols of the tests' object files, so that neither a comment
nor a function of the same name in a test counts as a call."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Headers of kiln/ops that hold parts of functions and ops, which nobody else calls.
PARTS = {"scalar_math", "slopes", "precision", "special_math", "functions", "point", "matrix", "update",
         "interpolation", "length", "check", "draws", "taps", "recurrent_cell", "another_view", "elementwise", "wider_input"}
KEYWORDS = {"requires", "static_assert", "decltype", "noexcept", "sizeof", "if", "for", "while", "switch", "return",
            "explicit", "operator", "alignas", "append"}  # append: how a type is written in sentences
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
HEAD = re.compile(r"\b(namespace|class|struct)\s+(\w+)(?:\s+final)?(?:\s*:[^:].*)?\s*$", re.DOTALL)
TOKEN = re.compile(r"[{}();]|[A-Za-z_]\w*")
NAME_ROW = re.compile(r"^KILN_(UNARY|PREDICATE|BINARY|COMPARISON)\((\w+)", re.MULTILINE)
MACRO_ROW = re.compile(r"^KILN_(UNARY|PREDICATE|BINARY|COMPARISON)\(\w+, (\w+)", re.MULTILINE)


def elementwise():
    """The functions of elementwise.def."""
    return [match[2] for match in MACRO_ROW.finditer((ROOT / "kiln/ops/elementwise/elementwise.def").read_text())]


def named():
    """Those of them that tensors have as methods."""
    return [match[2] for match in NAME_ROW.finditer((ROOT / "kiln/ops/elementwise/names.def").read_text())]


def special():
    """The functions of special.def."""
    rows = (ROOT / "kiln/ops/special/special.def").read_text()
    return re.findall(r"^KILN_SPECIAL_OF_\d\(\w+, (\w+)", rows, re.MULTILINE)


def columns(row):
    """The arguments of a macro call, those in parentheses left whole."""
    parts, depth = [""], 0
    for letter in row[row.index("(") + 1:row.rindex(")")]:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def slopes():
    """What the gradients in elementwise.def call: the gradient checks of those rows are their proof."""
    rows = (ROOT / "kiln/ops/elementwise/elementwise.def").read_text().split("\n")
    gradients = [", ".join(columns(row)[4:]) for row in rows if re.match(r"KILN_(UNARY|BINARY)\(", row)]
    called = {name for gradient in gradients for name in re.findall(r"\b(\w+)\(", gradient)}
    return called - {"clamp"}  # which programs call as well


def declared(path, scope=()):
    """Names of the functions that stand directly in namespace kiln, or in a class there; in order."""
    code = ATTRIBUTE.sub(" ", NOISE.sub(" ", path.read_text()))
    wanted = ["namespace kiln", *scope]
    inside, parentheses, since, public, found = [], 0, 0, True, []
    for token in TOKEN.finditer(code):
        word, follows = token[0], code[token.end():].lstrip()
        if word in "()":
            parentheses += 1 if word == "(" else -1
        elif word == "{":
            head = HEAD.search(code[since:token.start()])
            inside.append(f"{head[1]} {head[2]}" if head and parentheses == 0 else "")
        elif word == "}":
            inside.pop()
            public = public or len(inside) == 1
        elif word in ("public", "private"):
            public = word == "public"
        elif parentheses == 0 and inside == wanted and public and re.match(r"\((?!&)", follows):
            name = re.match(r"\(\s*(\w*)", follows)[1] if word.startswith("KILN_") else word
            if code[:token.start()].endswith("::") or "Refused" in code[since:token.start()]:
                continue  # a call of another namespace's function; a function that no program can call
            if name[:1].islower() and not name.endswith("_") and name not in KEYWORDS:
                found.append(name)
        if word in "{};" and parentheses == 0:
            since = token.end()
    return list(dict.fromkeys(found))


def value_functions():
    """{header: names} of the functions over Value."""
    chapters = [header for header in sorted((ROOT / "kiln/ops").glob("*/*.hpp"))
                if not header.stem.endswith("_ops") and header.stem not in PARTS
                and header.parent.name not in ("planned", "expression", "scope")]
    headers = [ROOT / "kiln/ops/functions.hpp", *chapters]
    names = {str(header.relative_to(ROOT)): declared(header) for header in headers}
    names["kiln/ops/functions.hpp"] += [*declared(ROOT / "kiln/ops/elementwise/elementwise.hpp"), *elementwise()]
    names["kiln/ops/special/special.hpp"] += special()
    return names


def typed_functions():
    """{header: names} of the free functions over Tensor. custom_wire.hpp has none: tests/wire/ calls what it declares."""
    headers = sorted((ROOT / "kiln/tensor").rglob("*.hpp"))
    names = {str(header.relative_to(ROOT)): declared(header) for header in headers if header.stem != "custom_wire"}
    names["kiln/tensor/special.hpp"] += special()
    return names


def methods():
    return declared(ROOT / "kiln/tensor/tensor.hpp", ["class Tensor"]) + named()


def symbols(files, kinds):
    """Demangled names of those kinds (nm's letters)."""
    listing = subprocess.run(["nm", "-C", "--no-sort", *files], capture_output=True, text=True, check=True).stdout
    listing = listing.replace("[abi:cxx11]", "")
    return {line[19:] for line in listing.split("\n") if line[17:18] in kinds and line[16:17] == " "}


def missing(library, rows, typed):
    """Sentences about functions that nothing calls."""
    defined = symbols([library], "T")
    called = symbols([path for path in rows if "errors" not in path], "U")
    for header, names in value_functions().items():
        for name in [name for name in names if name not in slopes() or name in elementwise()]:
            for signature in sorted(s for s in defined if s.startswith(f"kiln::{name}(")):
                if signature not in called:
                    yield f"{header}: no row of tests/ops/ calls {signature.replace('kiln::', '')}"

    used = symbols(typed, "UWTtV") - defined
    free = {name for symbol in used for name in re.findall(r"\bkiln::(\w+)[<(]", symbol)}
    of_tensor = {name for symbol in used for name in re.findall(r"\bkiln::Tensor<[^()]*>::(\w+)[<(]", symbol)}
    for header, names in typed_functions().items():
        for name in names:
            if name not in free:
                yield f"{header}: no test of tests/tensor/ calls {name}()"
    for name in elementwise():
        if name not in free:
            yield f"kiln/tensor/arithmetic.hpp: no test of tests/tensor/ calls {name}()"
    for name in methods():
        if name not in of_tensor:
            yield f"kiln/tensor/tensor.hpp: no test of tests/tensor/ calls Tensor::{name}()"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--list", action="store_true", help="print the public functions and do no more")
    options.add_argument("--library", help="where the functions over Value are defined")
    options.add_argument("--rows", nargs="*", default=[], help="object files that must call each of them")
    options.add_argument("--typed", nargs="*", default=[], help="object files, compiled without inlining, that must "
                                                                "call each function and method of Tensor")
    chosen = options.parse_args()
    if chosen.list:
        for header, names in {**value_functions(), **typed_functions(), "Tensor": methods()}.items():
            print(f"{header}: {' '.join(names)}")
        return
    found = list(missing(chosen.library, chosen.rows, chosen.typed))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
