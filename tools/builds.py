"""Checks of whole builds as other people make them: of shared libraries, without optional ones, and packed for Debian."""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

from running import lines_of, output_of
from sources import ROOT

RELEASE = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"]
LIBRARY_ALONE = ["-DKILN_TESTS=OFF", "-DKILN_EXAMPLES=OFF", "-DKILN_BENCH=OFF"]
OPTIONAL = ["ONEDNN", "LAPACK", "CURL", "PICTURES", "SQLITE", "PCRE2", "RE2", "MPI", "CUDA"]
VERSION = re.search(r'KILN_VERSION "([\d.]+)"', (ROOT / "kiln" / "version.hpp").read_text())[1]
CONSUMER = ROOT / "tests" / "install"

# What is in a library for nobody else: kernels, and the templates of Highway that they are made of.
INTERNAL = re.compile(r"\bhwy::|kiln::cpu::simd::N_|kiln::gpu::family::|kiln::cuda::|kiln::rocm::|kiln::streams::")
# Packages that a compiler brings.
COMPILER = re.compile(r"^(libstdc\+\+|libc6|libgcc|gcc|g\+\+|cpp|linux-libc|libcrypt|binutils|mold)")


def built(name, *options):
    """The folder of a build with these options, and what went wrong in making it."""
    directory = ROOT / "build" / name
    error = output_of(["cmake", "-S", str(ROOT), "-B", str(directory), "-G", "Ninja", *RELEASE, *options])
    return directory, error or output_of(["ninja", "-C", str(directory), "--quiet"])


def shown_internals(library):
    """Symbols that a shared library shows and should not."""
    return [f"{library.name} shows {line}" for line in lines_of(["nm", "-DC", "--defined-only", str(library)])
            if INTERNAL.search(line)]


def consumed(installed):
    """Programs of others build and run against a build or what was installed, and one that only infers loads little."""
    return output_of(["bash", str(CONSUMER / "consume.sh"), "cmake", str(installed), "c++", "-O2", VERSION])


def check_shared():
    directory, error = built("shared", "-DBUILD_SHARED_LIBS=ON", *LIBRARY_ALONE)
    if error:
        return error
    libraries = sorted(path for path in directory.rglob("libkiln_*.so.*") if not path.is_symlink())
    if not libraries:
        return "no shared library was built"
    return "\n".join(line for library in libraries for line in shown_internals(library)[:5]) or consumed(directory)


def check_without():
    """Kiln needs none of the optional libraries."""
    directory, error = built("without", *(f"-DKILN_{name}=OFF" for name in OPTIONAL), "-DKILN_EXAMPLES=OFF",
                             "-DKILN_BENCH=OFF")
    return error or output_of(["ctest", "--test-dir", str(directory), "-j", str(os.cpu_count()), "--output-on-failure",
                               "--no-tests=error"])


def owners(files):
    """The Debian packages that files belong to."""
    paths = {str(pathlib.Path(file).resolve()) for file in files}
    # Where /lib is a link to /usr/lib, packages name one of both.
    paths |= {path.removeprefix("/usr") for path in paths}
    found = subprocess.run(["dpkg", "-S", *sorted(paths)], capture_output=True, text=True).stdout  # fails for others' files
    return {line.split(":")[0] for line in found.split("\n") if line}


def brought_by(packages):
    """These Debian packages and all that they depend on."""
    closure = lines_of(["apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests",
                        "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", *packages])
    return {line.split(":")[0].strip() for line in closure if line and not line.startswith((" ", "<"))}


def used_packages(prefix):
    """The Debian packages whose headers and libraries a consumer compiles and links with, but the compiler's."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.rglob("kiln.pc")).parent)}
    compiling, linking = (shlex.split(lines_of(["pkg-config", flags, "kiln"], env=environment)[0])
                          for flags in ("--cflags", "--libs"))
    source = str(CONSUMER / "consumer" / "train.cpp")
    headers = " ".join(lines_of(["c++", "-M", source, *compiling])).replace("\\", " ").split()
    libraries = lines_of(["c++", source, *compiling, *linking, "-Wl,--trace", "-o", os.devnull])
    files = [line.split("(")[0] for line in libraries if line.startswith("/")]
    return {package for package in owners([*(name for name in headers if name.startswith("/")), *files])
            if not COMPILER.match(package)}


def check_packages():
    """The Debian packages of the release build have all that programs need, and name the packages that those need."""
    build = ROOT / "build" / "release"
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        error = output_of(["cmake", "--preset", "release"]) or output_of(["ninja", "-C", str(build), "--quiet", "kiln/all", "cli/all"])
        error = error or output_of(["cpack", "-G", "DEB", "--config", str(build / "CPackConfig.cmake"), "-B", str(place / "packed")])
        if error:
            return error
        packages = sorted((place / "packed").glob("*.deb"))
        names, depends = set(), set()
        for package in packages:
            names.add(lines_of(["dpkg-deb", "-f", str(package), "Package"])[0])
            fields = lines_of(["dpkg-deb", "-f", str(package), "Depends"])[0]
            depends |= {part.split("(")[0].strip() for part in re.split(r"[,|]", fields)}
            if error := output_of(["dpkg-deb", "-x", str(package), str(place / "root")]):
                return error
        prefix = place / "root" / "usr"
        unknown = [package for package in sorted(depends - names) if output_of(["apt-cache", "show", package])]
        missing = sorted(used_packages(prefix) - brought_by(sorted(depends - names - set(unknown))))
        return "\n".join([*(f"the packages depend on {package}, which does not exist" for package in unknown),
                          *(f"programs need {package}, on which the packages do not depend" for package in missing)]) or consumed(prefix)
