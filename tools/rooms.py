#!/usr/bin/env python3
"""Compares the tree with the budgets of lines that ARCHITECTURE.md gives its folders, and prints how long its files are."""
import re
import sys

from sources import ROOT, listed

MOST_FILES = 40  # of one folder
TABLE_ROW = re.compile(r"^\| `([a-z/]+)` \| (\d+) \|", re.MULTILINE)


def lengths():
    """{path: lines} of the sources of the folders with a budget."""
    files = listed("kiln/*.cpp", "kiln/*.hpp", "kiln/*.def", "cli/*.cpp", "cli/*.hpp", "models/*.cpp", "models/*.hpp")
    return {path: len((ROOT / path).read_text().splitlines()) for path in files}


def budgets():
    return {folder: int(lines) for folder, lines in TABLE_ROW.findall((ROOT / "ARCHITECTURE.md").read_text())}


def owner(path, folders):
    """The folder with a budget that holds the file; None of kiln/kiln.hpp and its like."""
    return max((f for f in folders if str(path).startswith(f + "/")), key=len, default=None)


def errors():
    """Sentences, one for each folder that is over its budget, has none, or holds too many files."""
    limits, used, files = budgets(), {}, {}
    if not limits:
        yield "ARCHITECTURE.md: no row of the table of folders gives a budget of lines: | `kiln/core` | 6500 | ..."
    for path, lines in lengths().items():
        files[path.parent] = files.get(path.parent, 0) + 1
        folder = owner(path, limits)
        if folder is None and len(path.parts) > 2:
            yield f"{path}: the folder has no row with a budget of lines in ARCHITECTURE.md"
        used[folder] = used.get(folder, 0) + lines
    for folder, limit in limits.items():
        if used.get(folder, 0) > limit:
            yield f"{folder}: {used[folder]} lines, {limit} in ARCHITECTURE.md: make it smaller, or give the reason for more there"
    for folder, count in sorted(files.items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} files, at most {MOST_FILES}: give what belongs together a folder of its own"


def main():
    limits, used = budgets(), {}
    every = lengths()
    for path, lines in every.items():
        used.setdefault(owner(path, limits), []).append(lines)
    print(f"{'folder':24}{'lines':>8}{'budget':>8}{'files':>7}{'p90':>6}{'longest':>9}")
    for folder, limit in limits.items():
        files = sorted(used.get(folder, [0]))
        print(f"{folder:24}{sum(files):8}{limit:8}{len(files):7}{files[len(files) * 9 // 10]:6}{files[-1]:9}")
    print("longest:", ", ".join(f"{path} {lines}" for path, lines in sorted(every.items(), key=lambda file: -file[1])[:10]))
    found = list(errors())
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
