#!/usr/bin/env python3
"""Dependencies between the folders of kiln/, and of models/ on it, point one way, components include what they link, ops stand and are emitted where
ARCHITECTURE.md says, and few sources read what changes often; prints what is otherwise."""
import pathlib
import re
import sys

from sources import ROOT, includes, listed, reachable

# From the bottom up; folders of one row do not know each other.
LAYERS = [
    ["core"],
    ["ops"],
    ["wire", "picture", "net"],
    ["autodiff", "fusion", "backend", "collective"],
    ["tensor"],
    ["nn", "distribution"],
    ["vision"],
    ["optim", "data", "store", "onnx"],
    ["train", "compile", "browser"],
    ["rl"],
]
HEIGHT = {folder: height for height, row in enumerate(LAYERS) for folder in row}
FACADE, OP_TABLE = pathlib.Path("kiln/kiln.hpp"), pathlib.Path("kiln/ops/op.hpp")


def folder(path):
    """'ops' for kiln/ops/op.hpp; None for kiln/kiln.hpp, which stands above them all."""
    return path.parts[1] if len(path.parts) > 2 else None


def wrong_includes():
    for path in listed("kiln/*.hpp", "kiln/*.cpp", "kiln/*.def"):
        own = folder(path)
        if own is not None and own not in HEIGHT:
            yield f"{path}: the folder kiln/{own} has no place in tools/layers.py"
            continue
        for line, target in includes(path):
            other = folder(target) if target.parts[0] == "kiln" else None
            if target.parts[0] != "kiln":
                yield f"{path}:{line}: kiln/ does not include {target}"
            elif own is not None and other is None:
                yield f"{path}:{line}: only programs include {target}"
            elif own is not None and other != own and HEIGHT.get(other, 0) >= HEIGHT[own]:
                yield f"{path}:{line}: {own} does not include {other} ({target}): it stands beside or below it"


def wrong_includes_of_models():
    """models/ stands on all of kiln/, and below whatever uses it."""
    for path in listed("models/*.hpp", "models/*.cpp"):
        for line, target in includes(path):
            if target.parts[0] not in ("kiln", "models"):
                yield f"{path}:{line}: models/ does not include {target}"


LIBRARY = re.compile(r"kiln_library\((\w+)([^)]*)\)")
LINKS = re.compile(r"(?<!PRIVATE_)\bLINKS\s+([^)]*?)(?:\s+[A-Z][A-Z_]*\b|$)", re.DOTALL)


def libraries():
    """{name: (folder, names of the libraries that its users get with it)} for every library of kiln/."""
    found = {}
    for path in listed("kiln/*CMakeLists.txt"):
        for name, arguments in LIBRARY.findall((ROOT / path).read_text()):
            words = " ".join(links for links in LINKS.findall(arguments)).split()
            found[name] = (path.parent, [word.removeprefix("kiln_") for word in words if word.startswith("kiln_")])
    return found


def wrong_component_headers():
    """kiln/nn.hpp includes headers of the component nn and of those that it links, and no others."""
    known = libraries()
    folders = {folder for folder, _ in known.values()}
    for header in listed("kiln/*.hpp"):
        if len(header.parts) > 2 or header.stem in ("kiln", "version"):
            continue
        if header.stem not in known:
            yield f"{header}: there is no component {header.stem}"
            continue
        linked, waiting = set(), [header.stem]
        while waiting:
            if (name := waiting.pop()) in known and name not in linked:
                linked.add(name)
                waiting.extend(known[name][1])
        own = {known[name][0] for name in linked}
        for path in sorted(reachable(header)):
            place = next((folder for folder in path.parents if folder in folders), None)
            if place is not None and place not in own:
                yield f"{header} reaches {path}, whose component {header.stem} does not link: " \
                      + " > ".join(map(str, way(header, path)))


OP = re.compile(r"^struct (\w+) \{\n(?: *//.*\n)* *static constexpr std::string_view kName\b", re.MULTILINE)
EMITTED = re.compile(r"\bemit(?:_all)?\((?:[\w.()]+, )?(?:op::)?([A-Z]\w*)\{")


def wrong_places_of_ops():
    """Ops stand in *_ops files, and are emitted in the chapter that they stand in."""
    chapters = {}
    for path in listed("kiln/ops/*/*.hpp"):
        for name in OP.findall((ROOT / path).read_text()):
            chapters[name] = path.parent
            if path.parent.name != "planned" and not path.name.endswith("_ops.hpp"):
                yield f"{path}: an op ({name}) stands in a file named *_ops.hpp"
    if not chapters:
        yield "kiln/ops: there is no op, as tools/layers.py sees it"
    for path in listed("kiln/*.cpp", "kiln/*.hpp"):
        if path.parent == pathlib.Path("kiln/ops/planned"):
            continue
        for number, line in enumerate((ROOT / path).read_text().split("\n"), 1):
            for name in EMITTED.findall(line):
                if name in chapters and chapters[name] != path.parent:
                    yield f"{path}:{number}: emits {name}, which only the functions of {chapters[name]} do"


def way(start, goal):
    """The chain of includes that leads from one file to another."""
    for _, included in includes(start):
        if included == goal:
            return [start, goal]
        if goal in reachable(included):
            return [start, *way(included, goal)]


# What changes often, and how many sources of kiln/ may compile again then.
FEW_READERS = {pathlib.Path("kiln/ops/elementwise/elementwise.def"): 30}


def too_many_readers():
    """Files that are to be read by few, so that a row more costs little."""
    sources = listed("kiln/*.cpp")
    for path, most in FEW_READERS.items():
        readers = [source for source in sources if path in reachable(source)]
        if not readers:
            yield f"{path}: no source reads it, as tools/layers.py sees it"
        if len(readers) > most:
            yield f"{path}: {len(readers)} sources of kiln/ read it, {most} at most may: " + " ".join(map(str, readers))


def errors():
    yield from wrong_includes()
    yield from too_many_readers()
    yield from wrong_includes_of_models()
    yield from wrong_component_headers()
    yield from wrong_places_of_ops()
    if listed(str(FACADE)) and OP_TABLE in reachable(FACADE):
        yield f"{FACADE} reaches the op table: " + " > ".join(map(str, way(FACADE, OP_TABLE)))


if __name__ == "__main__":
    found = list(errors())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
