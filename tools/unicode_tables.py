#!/usr/bin/env python3
"""Writes kiln/data/text/unicode_tables.inc, normal_tables.inc and newer_tables.inc: what tokenizers ask of Unicode, as Hugging
Face's library answers for each code point. Its stages have databases of several versions, so it is asked, not Unicode.
Python's own copy says what it cannot be asked: the classes of marks.

python3 tools/unicode_tables.py > kiln/data/text/unicode_tables.inc
python3 tools/unicode_tables.py normal > kiln/data/text/normal_tables.inc
python3 tools/unicode_tables.py newer > kiln/data/text/newer_tables.inc
"""

import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

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


def ranges(holds, points=POINTS):
    found = []
    for point in points:
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


def removed(stage):
    """Points that a pre-tokenizer takes out of a text."""
    kept = {c for piece, _ in stage.pre_tokenize_str("".join(map(chr, POINTS))) for c in piece}
    return lambda point: chr(point) not in kept


def matched(regex):
    return removed(pre_tokenizers.Split(Regex(regex), "removed"))


def bert(**stages):
    default = {name: False for name in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")}
    return normalizers.BertNormalizer(**(default | stages))


WORDS, DIGITS, LOWERCASE = pre_tokenizers.Whitespace(), pre_tokenizers.Digits(), normalizers.Lowercase()


def word(point):
    return len(WORDS.pre_tokenize_str(f"a{chr(point)}b")) == 1


def digit(point):
    return len(DIGITS.pre_tokenize_str(f"a{chr(point)}")) == 2


def lower(point):
    text = LOWERCASE.normalize_str(chr(point))
    return ord(text) if len(text) == 1 else point  # of one point alone, U+0130, which becomes two


def by_normalizer(normalizer):
    known = {point: normalizer.normalize_str(chr(point)) for point in POINTS}
    return lambda point: known[point]


def dropped(normalizer):
    """Points of which a normalizer leaves nothing."""
    left = by_normalizer(normalizer)
    return lambda point: left(point) == "" and point not in (0, 0xFFFD)


def decompositions(form, but=None):
    """Of each point that is not its own: the point, how many it becomes, and those. Hangul has a formula."""
    cells = []
    for point in POINTS:
        text = form(point)
        if text == chr(point) or 0xAC00 <= point < 0xD7A4 or (but and text == but(point)):
            continue
        cells += [hex(point), str(len(text))] + [hex(ord(c)) for c in text]
    return cells


def compositions(composed):
    """Two points and what they become together."""
    cells = []
    for point in POINTS:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and parts[0][0] != "<" and composed(point) == chr(point):
            a, b = (chr(int(part, 16)) for part in parts)
            if normalizers.NFC().normalize_str(a + b) == chr(point):
                cells.append(f"{{0x{parts[0].lower().lstrip('0')}, 0x{parts[1].lower().lstrip('0')}, 0x{point:x}}}")
    return cells


def ordered(point):
    """Whether the library moves the mark among others, as one of its class: some are newer than its database."""
    own = unicodedata.combining(chr(point))
    other = "\u0334" if own > 1 else "\u0345"  # of the lowest class, and of the highest
    pair = chr(point) + other if own > 1 else other + chr(point)
    return normalizers.NFD().normalize_str("a" + pair) != "a" + pair


def classes():
    runs = []
    for point in POINTS:
        value = unicodedata.combining(chr(point))
        if not value or not ordered(point):
            continue
        if runs and runs[-1][1] == point - 1 and runs[-1][2] == value:
            runs[-1][1] = point
        else:
            runs.append([point, point, value])
    return [f"{{0x{a:x}, 0x{b:x}, {v}}}" for a, b, v in runs]


def properties():
    rows("kLetters", "Run", ranges(matched(r"\p{L}")))
    rows("kNumbers", "Run", ranges(matched(r"\p{N}")))
    rows("kDigits", "Run", ranges(digit))
    rows("kPunctuation", "Run", ranges(removed(pre_tokenizers.Punctuation("removed"))))
    rows("kMarks", "Run", ranges(dropped(bert(strip_accents=True))))
    rows("kWord", "Run", ranges(word))
    rows("kControls", "Run", ranges(dropped(bert(clean_text=True))))
    rows("kLower", "Move", mapping(lower))


def normal_forms():
    apart = by_normalizer(normalizers.NFD())
    rows("kCanonical", "char32_t", decompositions(apart))
    rows("kCompatible", "char32_t", decompositions(by_normalizer(normalizers.NFKD()), apart))
    rows("kCompositions", "Composition", compositions(by_normalizer(normalizers.NFC())))
    rows("kClasses", "Class", classes())
    rows("kCombining", "Class", [cell[:-1] + ", 1}" for cell in ranges(dropped(normalizers.StripAccents()))])
    extends = ranges(lambda point: unicodedata.category(chr(point)).startswith("M"))
    rows("kExtending", "Class", [cell[:-1] + ", 1}" for cell in extends])


CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split()


def newer():
    """Points that Oniguruma knows and Unicode 14 does not, which is the oldest that a PCRE2 of Debian's has."""
    unknown = [point for point in POINTS if point < 0x40000 and unicodedata.category(chr(point)) == "Cn"]
    cells = []
    for name in CATEGORIES:
        stage = pre_tokenizers.Split(Regex(rf"\p{{{name}}}"), "removed")
        kept = {c for piece, _ in stage.pre_tokenize_str("".join(map(chr, unknown))) for c in piece}
        cells += [cell[:-1] + f", \"{name}\"}}" for cell in ranges(lambda point: chr(point) not in kept, unknown)]
    rows("kNewer", "Newer", cells)


print(f"// Hugging Face's tokenizers {tokenizers.__version__} and Unicode {unicodedata.unidata_version}, by tools/unicode_tables.py.")
print("// clang-format off")
{"normal": normal_forms, "newer": newer}.get("".join(sys.argv[1:]), properties)()
print("// clang-format on")
