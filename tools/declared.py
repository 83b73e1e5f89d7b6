#!/usr/bin/env python3
"""Functions that a header declares and no library of a build defines, each with its place; run by `./dev check declared`.

The compiler's own front end (python3-clang-19) reads all headers as one; symbols are those of the build's static libraries."""
import pathlib
import subprocess
import sys

from clang import cindex

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kiln/backend/cpu"  # headers of kernels, which are compiled for several instruction sets and not together
IN_A_BROWSER = [ROOT / "kiln/net/browser", ROOT / "kiln/backend/webgpu/browser"]  # of the builds for WebAssembly
# Defined in the libraries for places without exceptions alone.
ELSEWHERE = {"set_error_handler"}
FUNCTIONS = {cindex.CursorKind.FUNCTION_DECL, cindex.CursorKind.CXX_METHOD, cindex.CursorKind.CONSTRUCTOR,
             cindex.CursorKind.DESTRUCTOR, cindex.CursorKind.CONVERSION_FUNCTION}
SCOPES = {cindex.CursorKind.NAMESPACE, cindex.CursorKind.CLASS_DECL, cindex.CursorKind.STRUCT_DECL,
          cindex.CursorKind.LINKAGE_SPEC}


def defined(build):
    """The mangled names that some library of the build defines."""
    libraries = sorted(map(str, build.rglob("*.a")))
    lines = subprocess.run(["nm", "--defined-only", "--format=posix", *libraries], capture_output=True, text=True).stdout
    return {line.split(" ", 1)[0] for line in lines.splitlines()}


def functions(cursor):
    """What is declared in the scope that is no template, and in those within it."""
    for each in cursor.get_children():
        place = each.location.file
        if each.kind in SCOPES:
            if cursor.kind != cindex.CursorKind.TRANSLATION_UNIT or (place and place.name.startswith(str(ROOT))):
                yield from functions(each)
        elif each.kind in FUNCTIONS and place and place.name.startswith(str(ROOT)):
            yield each


def usable(function):
    """Is it there to be called, and defined elsewhere?"""
    special = function.is_pure_virtual_method() or function.is_default_method() or function.is_deleted_method()
    return not special and function.get_definition() is None


def main():
    build = pathlib.Path(sys.argv[1])
    headers = [path for folder in ("kiln", "models") for path in sorted((ROOT / folder).rglob("*.hpp"))
               if not {KERNELS, *IN_A_BROWSER} & set(path.parents)]
    text = "".join(f'#include "{path}"\n' for path in headers)
    flags = ["-x", "c++", "-std=c++20", f"-I{ROOT}", "-I/usr/include/stb"]
    unit = cindex.Index.create().parse("all.cpp", flags, [("all.cpp", text)])
    errors = [each for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
    for each in errors[:10]:
        print(f"{each.location.file}:{each.location.line}: {each.spelling}")
    known, missing = defined(build), {}
    for function in functions(unit.cursor):
        if not usable(function):
            continue
        names = {function.mangled_name}
        if function.kind in (cindex.CursorKind.CONSTRUCTOR, cindex.CursorKind.DESTRUCTOR):
            # One of the two or three that a constructor has is enough.
            stem = function.mangled_name
            names |= {stem.replace(f"{letter}{a}E", f"{letter}{b}E") for letter in "CD" for a in "0123" for b in "0123"}
        if not names & known and function.spelling not in ELSEWHERE:
            place = pathlib.Path(function.location.file.name).relative_to(ROOT)
            missing.setdefault(f"{place}:{function.location.line}: {function.displayname} is declared, and defined nowhere")
    print("\n".join(missing), end="\n" if missing else "")
    sys.exit(bool(missing or errors))


if __name__ == "__main__":
    main()
