"""Compares the formulas of tools/meanings.py with what kiln/ops/elementwise/elementwise.def computes, at some numbers."""
import math
import re

import facade
import meanings
from sources import ROOT

LEAST = 20  # formulas, so that a pattern that finds none is seen
SAMPLES = [-7.5, -3, -1, -0.3, 0.0, 0.2, 0.5, 1, 2.5, 4]
SURELY = r"(?:, without overflow\.|, exact near 0\.|, exact for large x\.|, and (?P<at_zero>[01]) (?:at 0|where x is 0)\.)?"
WHOLE = re.compile(rf"`(?P<formula>[^`]+)`{SURELY}")
PARTS = re.compile(r"x where (?P<where>it is positive|it is above y|its magnitude is above y), else (?:`(?P<formula>[^`]+)`|(?P<number>0))\.")
WHERE = {"it is positive": "x > 0", "it is above y": "x > y", "its magnitude is above y": "abs(x) > y"}

KNOWN = {name: getattr(math, name) for name in "sqrt exp expm1 log log1p log2 log10 sin cos tanh sinh cosh erf floor trunc pi".split()}
KNOWN |= {
    "abs": abs, "min": min, "max": max, "is_nan": math.isnan,
    "sign": lambda x: (x > 0) - (x < 0),
    "square": lambda x: x * x,
    "select": lambda condition, a, b: a if condition else b,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log(1 + math.exp(x)),
    "hard_sigmoid": lambda x: min(max(x / 6 + 0.5, 0), 1),
    "hypot": math.hypot, "erfc": math.erfc,
    "sinc": lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1,
    "logaddexp": lambda x, y: max(x, y) + math.log1p(math.exp(-abs(x - y))),
}


def value(expression, x, y):
    """An expression of C++ or of a page at (x, y), or None where it, or a part that select() would not choose, has no finite value, and for names that
    are not known."""
    python = re.sub(r"!(?!=)", " not ", expression.replace("&", " and "))
    try:
        found = eval(python, {"__builtins__": {}}, {**KNOWN, "x": x, "y": y})  # pylint: disable=eval-used
    except (ValueError, ZeroDivisionError, OverflowError, NameError, SyntaxError, TypeError):
        return None
    return float(found) if math.isfinite(found) else None


def rows():
    """{name: what the row computes}"""
    found = {}
    for row in (ROOT / "kiln/ops/elementwise/elementwise.def").read_text().split("\n"):
        if re.match(r"KILN_(UNARY|BINARY)\(\w", row):
            name, _, computed = (cell.strip() for cell in facade.columns(row)[1:4])
            found[name] = computed
    return found


def claimed(meaning, x, y):
    """What a meaning says of (x, y), or None where it is no formula."""
    if parts := PARTS.fullmatch(meaning):
        other = parts["number"] or parts["formula"]
        return value("x" if value(WHERE[parts["where"]], x, y) else other, x, y)
    whole = WHOLE.fullmatch(meaning)
    if whole is None:
        return None
    if whole["at_zero"] and x == 0:
        return float(whole["at_zero"])
    return value(whole["formula"], x, y)


def wrong():
    """Meanings that say something else than their rows, each once."""
    computed, compared = rows(), set()
    for name, meaning in {**meanings.lines(meanings.METHODS), **meanings.lines(meanings.BOTH)}.items():
        for x, y in ((x, y) for x in SAMPLES for y in SAMPLES if y > 0):
            said, done = claimed(meaning, x, y), value(computed.get(name, ""), x, y)
            if said is None or done is None:
                continue
            compared.add(name)
            if not math.isclose(said, done, rel_tol=1e-9, abs_tol=1e-9):
                yield f"tools/meanings.py: {name}: '{meaning}' is {said:.6g} at x = {x}, y = {y}, and the row computes {done:.6g}"
                break
    if len(compared) < LEAST:
        yield f"tools/formulas.py: only {len(compared)} formulas could be compared: {sorted(compared)}"


if __name__ == "__main__":
    print(*wrong(), sep="\n")
