#!/usr/bin/env python3
"""Writes kiln/data/text/unicode_tables.inc and normal_tables.inc: what tokenizers ask of Unicode, from Python's copy of its
database.

python3 tools/unicode_tables.py > kiln/data/text/unicode_tables.inc
python3 tools/unicode_tables.py normal > kiln/data/text/normal_tables.inc
"""

import sys
import unicodedata

POINTS = [p for p in range(sys.maxunicode + 1) if not 0xD800 <= p < 0xE000]


def rows(name, kind, cells):
    print(f"inline constexpr {kind} {name}[] = {{")
    line = "   "
    for cell in cells:
        if len(line) + len(cell) > 118:
            print(line)
            line = "   "
        line += f" {cell},"
    print(line + "\n};")


def ranges(holds):
    found = []
    for point in POINTS:
        if not holds(point):
            continue
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return [f"{{0x{a:x}, 0x{b:x}}}" for a, b in found]


def mapping(function):
    """Runs of points that move by one distance, a point or every second one at a time."""
    runs = []
    for point in POINTS:
        other = function(point)
        if other == point:
            continue
        last = runs[-1] if runs else None
        if last and last[2] == other - point and point - last[1] in (1, 2) and last[3] in (0, point - last[1]):
            last[1], last[3] = point, point - last[1]
        else:
            runs.append([point, point, other - point, 0])
    return [f"{{0x{a:x}, 0x{b:x}, {d}, {max(s, 1)}}}" for a, b, d, s in runs]


def category(prefix):
    return lambda point: unicodedata.category(chr(point)).startswith(prefix)


def lower(point):
    text = chr(point).lower()
    return ord(text) if len(text) == 1 else point  # of one point alone, U+0130, which becomes two


def bare(point):
    text = "".join(c for c in unicodedata.normalize("NFD", chr(point)) if unicodedata.category(c) != "Mn")
    return ord(text) if len(text) == 1 else point


def decompositions(form, but=None):
    """Of each point that is not its own: the point, how many it becomes, and those. Hangul has a formula."""
    cells = []
    for point in POINTS:
        text = unicodedata.normalize(form, chr(point))
        if text == chr(point) or 0xAC00 <= point < 0xD7A4 or (but and text == unicodedata.normalize(but, chr(point))):
            continue
        cells += [hex(point), str(len(text))] + [hex(ord(c)) for c in text]
    return cells


def compositions():
    """Two points and what they become together."""
    cells = []
    for point in POINTS:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and parts[0][0] != "<" and unicodedata.normalize("NFC", chr(point)) == chr(point):
            cells.append(f"{{0x{parts[0].lower().lstrip('0')}, 0x{parts[1].lower().lstrip('0')}, 0x{point:x}}}")
    return cells


def classes():
    runs = []
    for point in POINTS:
        value = unicodedata.combining(chr(point))
        if not value:
            continue
        if runs and runs[-1][1] == point - 1 and runs[-1][2] == value:
            runs[-1][1] = point
        else:
            runs.append([point, point, value])
    return [f"{{0x{a:x}, 0x{b:x}, {v}}}" for a, b, v in runs]


def properties():
    rows("kLetters", "Run", ranges(category("L")))
    rows("kNumbers", "Run", ranges(category("N")))
    rows("kPunctuation", "Run", ranges(category("P")))
    rows("kMarks", "Run", ranges(category("Mn")))
    rows(
        "kWord",
        "Run",
        ranges(
            lambda point: unicodedata.category(chr(point))
            in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc")
        ),
    )
    rows("kControls", "Run", ranges(category("C")))
    rows("kLower", "Move", mapping(lower))
    rows("kBare", "Move", mapping(bare))


def normal_forms():
    rows("kCanonical", "char32_t", decompositions("NFD"))
    rows("kCompatible", "char32_t", decompositions("NFKD", "NFD"))
    rows("kCompositions", "Composition", compositions())
    rows("kClasses", "Class", classes())
    rows("kCombining", "Class", [cell[:-1] + ", 1}" for cell in ranges(category("M"))])


print(f"// Unicode {unicodedata.unidata_version}, by tools/unicode_tables.py.")
print("// clang-format off")
normal_forms() if sys.argv[1:] == ["normal"] else properties()
print("// clang-format on")
