"""Checks of whole builds as other people make them: of shared libraries, without optional ones, and packed for Debian."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from running import lines_of, output_of
from sources import ROOT

RELEASE = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"]
LIBRARY_ALONE = ["-DKILN_TESTS=OFF", "-DKILN_EXAMPLES=OFF", "-DKILN_BENCH=OFF"]
# The options of what Kiln uses "if it is there" or "where a machine has" it.
OPTIONAL = re.findall(r'^option\(KILN_(\w+) "[^"]*, (?:if|where) [^"]*" ON\)', (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
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
    """Symbols that a shared library shows and should not. What CUDA and ROCm share is a library for these two."""
    own = "kiln::streams::" if library.name.startswith("libkiln_streams.") else None
    return [f"{library.name} shows {line}" for line in lines_of(["nm", "-DC", "--defined-only", str(library)])
            if (found := INTERNAL.search(line)) and found[0] != own]


# What a program brings, or a page.
BROUGHT = {"kiln_call_back"}


def hidden(libraries):
    """Names that a library needs of another, and that none of them shows (SHOWS of kiln_library): no program links then."""
    def names(library, which):
        return {line.split()[-1].split("@")[0] for line in lines_of(["nm", "-D", which, str(library)]) if line}

    shown = set().union(*(names(library, "--defined-only") for library in libraries), BROUGHT)
    return [f"{library.name} needs {name}, which no library shows" for library in libraries
            for name in sorted(names(library, "--undefined-only") - shown) if re.match(r"_ZN?K?\d*4kiln|kiln_", name)]


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
    wrong = [line for library in libraries for line in shown_internals(library)[:5]] + hidden(libraries)
    return "\n".join(wrong) or consumed(directory)


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


def packed(place):
    """The Debian packages of the release build, made below a folder, and what went wrong."""
    build = ROOT / "build" / "release"
    error = output_of(["cmake", "--preset", "release"])
    error = error or output_of(["ninja", "-C", str(build), "--quiet", "kiln/all", "cli/all", "models/all"])
    error = error or output_of(["cpack", "-G", "DEB", "--config", str(build / "CPackConfig.cmake"), "-B", str(place / "packed")])
    return sorted((place / "packed").glob("*.deb")), error


# What a person types in a system that has nothing but the packages; a warning of a missing recommendation is none.
IN_CHROOT = """
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q -y install --reinstall --no-install-recommends /packed/kiln*.deb cmake ninja-build
kiln --version
test -s /usr/share/doc/kiln/README.md
cd /root
rm -rf prices
kiln new prices
cd prices
cmake -B build -G Ninja
cmake --build build -j 1
ctest --test-dir build --output-on-failure
build/prices --plain --epochs 2
kiln inspect model.safetensors
apt-get -q -y install --no-install-recommends libcli11-dev libstb-dev
cmake -S /usr/share/kiln/examples -B /root/examples -G Ninja
cmake --build /root/examples -j 1 --target import_weights
cd /usr/share/kiln
/root/examples/import_weights/import_weights
"""


def own_suite():
    """The name of the Debian on which this runs; empty elsewhere."""
    release = pathlib.Path("/etc/os-release")
    found = re.search(r"^VERSION_CODENAME=(\w+)", release.read_text() if release.exists() else "", re.MULTILINE)
    return found[1] if found else ""


def packed_in(suite):
    """The Debian packages as another Debian, which ./dev makes, builds them, and what went wrong."""
    command = "./dev build user && rm -rf packages && cpack -G DEB --config build/user/CPackConfig.cmake -B packages"
    error = output_of([str(ROOT / "dev"), "fresh", suite, command])
    return sorted((ROOT / "build" / "fresh" / suite / "kiln" / "packages").glob("*.deb")), error


def check_chroot(suite):
    """A Debian that has nothing else installs the packages, and builds, tests and runs a project of `kiln new` with them. Root
    makes it, once, in build/fresh/packages-SUITE."""
    if os.geteuid() != 0:
        return "only root can change into another system: sudo ./dev check chroot"
    system = ROOT / "build" / "fresh" / f"packages-{suite}"
    with tempfile.TemporaryDirectory() as name:
        packages, error = packed(pathlib.Path(name)) if suite == own_suite() else packed_in(suite)
        if not error and not (system / "complete").exists():
            system.mkdir(parents=True, exist_ok=True)
            error = output_of(["debootstrap", "--variant=minbase", suite, str(system)])
            if not error:
                (system / "complete").touch()
        if error:
            return error
        (system / "packed").mkdir(exist_ok=True)
        for old in (system / "packed").glob("*.deb"):
            old.unlink()
        for package in packages:
            shutil.copy(package, system / "packed")
    enter = ('mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; cp /etc/resolv.conf "$1/etc/resolv.conf"; '
             'chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 bash -euc "$2"')
    return output_of(["unshare", "--mount", "--pid", "--fork", "--", "bash", "-euc", enter, "chroot", str(system), IN_CHROOT])


def check_packages():
    """The Debian packages of the release build have all that programs need, and name the packages that those need."""
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        packages, error = packed(place)
        if error:
            return error
        depends, owner = {}, {}  # by package; by file
        for package in packages:
            for line in lines_of(["dpkg-deb", "-c", str(package)]):
                file = line.split(maxsplit=5)[5].split(" -> ")[0] if line else "/"  # a link's target is another file
                if not file.endswith("/") and owner.setdefault(file, package.name) != package.name:
                    return f"{owner[file]} and {package.name} both have {file}, which dpkg refuses"
            fields = " ".join(lines_of(["dpkg-deb", "-f", str(package), "Depends"]))
            depends[lines_of(["dpkg-deb", "-f", str(package), "Package"])[0]] = {
                part.split("(")[0].strip() for part in re.split(r"[,|]", fields) if part.strip()}
            if error := output_of(["dpkg-deb", "-x", str(package), str(place / "root")]):
                return error
        prefix = place / "root" / "usr"
        unknown = [package for package in sorted(set().union(*depends.values()) - depends.keys())
                   if output_of(["apt-cache", "show", package])]
        # Programs of kiln::kiln need none of the parts that are packages of their own.
        needed = set().union(*(depends[name] for name in depends if name.startswith("kiln"))) - depends.keys()
        missing = sorted(used_packages(prefix) - brought_by(sorted(needed - set(unknown))))
        return "\n".join([*(f"the packages depend on {package}, which does not exist" for package in unknown),
                          *(f"programs need {package}, on which the packages do not depend" for package in missing)]) or consumed(prefix)
