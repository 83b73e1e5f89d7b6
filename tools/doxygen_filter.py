#!/usr/bin/env python3
"""Prints a header as Doxygen wants to read it: what stands above `#pragma once` describes the file, and in comments
`[batch, <T>] -> #1` is text, not markup; words in backticks are left alone."""
import re
import sys

# A template whose base is another instance of itself, which Doxygen takes for a class that is its own base.
OWN_BASE = re.compile(r"(struct (\w+)) : \2<.*> (?=\{\};)")
MARKUP = re.compile(r"(`[^`]*`)|(::|[\\@<>&#%$~\"])")


def as_text(comment):
    return MARKUP.sub(lambda found: found[1] or "\\" + found[2], comment)


def lines(text):
    above, inside = True, False  # of `#pragma once`
    for line in text.split("\n"):
        above = above and not line.startswith("#pragma once")
        code, slashes, comment = line.partition("///")
        if above and line.startswith("//"):
            yield ("/// " if inside else "/// @file\n/// ") + as_text(line.lstrip("/ "))
            inside = True
        elif slashes and code.count('"') % 2 == 0:
            yield code + slashes + as_text(comment)
        else:
            yield OWN_BASE.sub(r"\1 ", line).replace("struct fmt::formatter", "struct formatter")  # of a namespace that it has not seen


print("\n".join(lines(open(sys.argv[1], encoding="utf-8").read())), end="")
