"""The project's C++ files and which of them includes which."""
import functools
import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)


def listed(*patterns):
    """Files that git tracks or would track, as paths relative to the root."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns).stdout.split("\n")
    return sorted(pathlib.Path(name) for name in set(names) if name and (ROOT / name).exists())


@functools.cache
def includes(path):
    """(line number, included file) for every include of a file of ours; others' headers are left out."""
    found = []
    for number, line in enumerate((ROOT / path).read_text(errors="replace").split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        for base in (pathlib.Path(), path.parent):
            if (ROOT / base / match[1]).is_file():
                found.append((number, base / match[1]))
                break
    return tuple(found)


@functools.cache
def reachable(path):
    """Every file of ours that including `path` brings in, itself among them."""
    seen, waiting = {path}, [path]
    while waiting:
        for _, included in includes(waiting.pop()):
            if included not in seen:
                seen.add(included)
                waiting.append(included)
    return frozenset(seen)


def fingerprint(path, salt):
    """Changes when `path`, anything it reaches or `salt` does."""
    digest = hashlib.sha256(salt.encode())
    for file in sorted(reachable(path)):
        digest.update(str(file).encode() + b"\0" + (ROOT / file).read_bytes())
    return digest.hexdigest()


def contents(*patterns):
    """Changes when a file of these patterns does."""
    digest = hashlib.sha256()
    for file in listed(*patterns):
        digest.update(str(file).encode() + b"\0" + (ROOT / file).read_bytes())
    return digest.hexdigest()
