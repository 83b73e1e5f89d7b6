#!/usr/bin/env python3
"""What `./dev check` runs: one line per check, with what is wrong below it; the exit status tells."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import sys
import time

import builds
import layers
import rooms
from running import output_of
from sources import ROOT, contents, fingerprint, git, includes, listed

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", "-I/usr/include/stb"]
KNOWN_GOOD = ROOT / "build" / "check"  # an empty file for each file that passed, named by its fingerprint


def of_each(paths, name, salt, check):
    """check(path) for the paths that have not passed before as they are now; several at a time."""
    KNOWN_GOOD.mkdir(parents=True, exist_ok=True)
    marks = {path: KNOWN_GOOD / f"{name}-{fingerprint(path, f'{path} {salt}')}" for path in paths}

    def once(path):
        if marks[path].exists():
            return ""
        error = check(path)
        if not error:
            marks[path].touch()
        return error

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "\n".join(filter(None, pool.map(once, paths)))


def check_format():
    found = output_of(["clang-format-19", "--dry-run", "-Werror", *map(str, listed("*.cpp", "*.hpp"))])
    files = sorted({line.split(":")[0] for line in found.split("\n") if "-Wclang-format" in line})
    return "\n".join([*files, "./dev format mends this"]) if files else found


def check_layering():
    return "\n".join(layers.errors())


def check_rooms():
    """Folders keep the budgets of lines that ARCHITECTURE.md gives them, and hold few files."""
    return "\n".join(rooms.errors())


def check_headers():
    """Every header compiles alone."""
    def compiles(path):
        return output_of(["g++", *FLAGS, "-fsyntax-only", "-x", "c++", "-"], input=f'#include "{path}"\n')

    headers = listed("kiln/*.hpp", "models/*.hpp")
    if not pathlib.Path("/usr/include/ATen").exists():
        headers = [path for path in headers if not str(path).startswith("kiln/backend/libtorch/")]
    return of_each(headers, "header", " ".join(FLAGS), compiles)


def check_declared():
    """Every function that a header declares is defined in some library."""
    built, error = configured("release")
    error = error or output_of(["ninja", "-C", str(built), "--quiet"])
    # Debian's Python, which has the package
    return error or output_of(["/usr/bin/python3", str(ROOT / "tools/declared.py"), str(built)])


def configured(preset):
    """The folder of a preset's build, and what went wrong on the way to it."""
    return ROOT / "build" / preset, output_of(["cmake", "--preset", preset])


def compilations(built):
    """How a build compiles each of its sources: the compiler and its flags, without the files."""
    commands = {}
    for entry in json.loads((built / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        commands[pathlib.Path(entry["file"]).relative_to(ROOT)] = words[words[0].endswith("ccache"):words.index("-o")]
    return commands


def check_warnings(preset, every_file):
    """Sources compile without a warning, with the flags of a build; what a user builds only prints them."""
    built, error = configured(preset)
    if error:
        return error
    commands = compilations(built)

    def compiles(path):
        return output_of([*commands[path], "-Werror", "-o", os.devnull, "-c", str(ROOT / path)])

    paths = [path for path in chosen(every_file, "*.cpp") if path in commands]
    return of_each(paths, f"warnings-{preset}", " ".join(FLAGS), compiles)


def check_portable(preset):
    """The libraries for places without exceptions, RTTI, threads and files compile, and programs with them."""
    directory, error = configured(preset)
    return error or output_of(["ninja", "-C", str(directory), "-k", "0", "--quiet"])


def check_programs(preset):
    """What was built for another machine does what it should."""
    return output_of(["ctest", "--test-dir", f"build/{preset}", "-j", str(os.cpu_count()), "--output-on-failure",
                      "--no-tests=error"])


def check_recipes():
    """CONTRIBUTING's recipes are true: ops that were added by them pass their tests."""
    return of_each([pathlib.Path("tools/recipes.py")], "recipes",
                   contents("CONTRIBUTING.md", "CMakeLists.txt", "cmake", "kiln", "tests", "tools"),
                   lambda path: output_of([sys.executable, str(path)]))


# The tests that can see the machine; all others stand on what these are about.
ARM64_TESTS = ["core/test_core", "ops/test_ops", "tensor/test_tensor", "backend/simd/test_simd"]
# These start their own program again, for which the system would have to know qemu.
NOT_IN_QEMU = ["NumThreads.AreReadFromTheEnvironment", "SettingsDeathTest.*",
               "SharedWeightsAlone.GiveTheBitsOfAnotherProcess"]
# These are ten minutes of two cores in qemu, for --all: gradients and histories are made of ops whose values are looked at.
SLOW_IN_QEMU = ["Huge.*", "*SharedWeights*", "Rows/OpHistory.*", "Rows/OpRow.HasTheGradient*",
                "Rows/OpRow.HasTheSecondOrderGradient*", "Rows/OpRow.HasTheSameBits*", "Rows/OpRow.Means*"]
QEMU_ARM64 = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]


def check_arm64(every_test):
    """Another processor, with other vectors, computes the same."""
    left_out = NOT_IN_QEMU + ([] if every_test else SLOW_IN_QEMU)
    directory, error = configured("arm64")
    error = error or output_of(["ninja", "-C", str(directory), "-k", "0", "--quiet",
                                *(name.split("/")[-1] for name in ARM64_TESTS)])
    if error:
        return error
    shards = 8  # a process that has translated everything needs 9 GiB

    def run(part):
        name, shard = part
        return output_of([*QEMU_ARM64, str(directory / "tests" / name), "--gtest_brief=1",
                          f"--gtest_filter=-{':'.join(left_out)}"],
                         env={**os.environ, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)})

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "\n".join(filter(None, pool.map(run, [(name, shard) for name in ARM64_TESTS for shard in range(shards)])))


# Another processor again, without a system: a share of the rows, or all of them for --all.
WASM_TESTS = ["core/test_core", "ops/test_ops", "backend/simd/test_simd"]
# These start processes, load libraries, lock files, change who may read them, or read what Linux says of itself.
NOT_IN_WASM = ["*DeathTest.*", "*SharedLibrary*", "AnOptionalLibrary.*", "Trace*", "*OfAnotherProcess*", "NumThreads.AreReadFromTheEnvironment", "*Forked*",
               "File.ReadsAPipe*", "File.KeepsThePermissions*", "File.AFullDisk*", "File.*Killed*", "File.SeveralProcesses*",
               "File.ADirectoryWithoutPermission*", "UserFolders.AreNotSafeWhereTheyAreAnothers"]


def check_wasm(every_test):
    """What browsers run, by Emscripten's build in node."""
    directory, error = configured("wasm")
    error = error or output_of(["ninja", "-C", str(directory), "-k", "0", "--quiet",
                                *(name.split("/")[-1] for name in WASM_TESTS)])
    if error:
        return error
    parts = 16

    def run(part):
        name, index = part
        return output_of(["node", "--no-warnings", str(directory / "tests" / f"{name}.js"), "--gtest_brief=1",
                          f"--gtest_filter=-{':'.join(NOT_IN_WASM)}"],
                         env={**os.environ, "GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(index)})

    chosen_parts = [(name, part) for name in WASM_TESTS
                    for part in (range(parts) if every_test or name != "ops/test_ops" else [5])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "\n".join(filter(None, pool.map(run, chosen_parts)))


def check_tidy(every_file):
    """Sources are read as the build compiles them, and headers as the first source that includes them; sources that it
    does not compile are for another machine, or wrong on purpose."""
    built, error = configured("clang")
    if error:
        return error
    flags = {path: command[1:] for path, command in compilations(built).items()}
    waiting = [path for path in listed("*.cpp") if path in flags]
    for path in waiting:  # grows, so that who includes a header itself comes before who does by another
        for _, header in includes(path):
            if header not in flags:
                flags[header] = flags[path]
                waiting.append(header)
    paths = [path for path in chosen(every_file, "*.cpp", "*.hpp") if path in flags or path.suffix == ".hpp"]
    common = ["-xc++", *FLAGS, "-Wno-pragma-once-outside-header"]
    salt = " ".join([(ROOT / ".clang-tidy").read_text(), *common, *sorted({shlex.join(words) for words in flags.values()})])
    return of_each(paths, "tidy", salt, lambda path: output_of(
        ["clang-tidy-19", "--quiet", "--warnings-as-errors=*", str(path), "--", *common, *flags.get(path, [])]))


def chosen(every_file, *patterns):
    """The files of these patterns that differ, or all of them."""
    differing = None if every_file else changed()
    return [path for path in listed(*patterns) if every_file or str(path) in differing]


def changed():
    """Files that differ from where this branch left origin/main; on main itself, from the commit before."""
    base = git("merge-base", "origin/main", "HEAD").stdout.strip()
    if not base or base == git("rev-parse", "HEAD").stdout.strip():
        base = "HEAD~"
    new = git("ls-files", "--others", "--exclude-standard").stdout
    return set((git("diff", "--name-only", base).stdout + new).split("\n"))


def main():
    options = argparse.ArgumentParser(prog="./dev check", description=__doc__)
    options.add_argument("--all", action="store_true", help="compilers and clang-tidy read every file, not only the changed ones; arm64 runs its slow tests")
    options.add_argument("--suite", default=builds.own_suite(), help="the Debian in which `chroot` builds and installs: trixie; this one, where absent")
    options.add_argument("names", nargs="*", metavar="CHECK", help="these alone; some take minutes and run with --all or by name only")
    chosen_by = options.parse_args()
    every_file = chosen_by.all
    checks = {
        "format": check_format,
        "layering": check_layering,
        "rooms": check_rooms,
        "headers": check_headers,
        "declared": check_declared,
        "g++": lambda: check_warnings("separate", every_file),
        "clang": lambda: check_warnings("clang", every_file),
        "wasi": lambda: check_portable("wasi") or check_programs("wasi"),
        "wasm": lambda: check_wasm(every_file),
        "cortex-m7": lambda: check_portable("cortex-m7") or check_programs("cortex-m7"),
        "arm64": lambda: check_arm64(every_file),
        "clang-tidy": lambda: check_tidy(every_file),
        "recipes": check_recipes,
    }
    whole_builds = {"shared": builds.check_shared, "without": builds.check_without, "packages": builds.check_packages,
                    "chroot": lambda: builds.check_chroot(chosen_by.suite)}
    checks |= whole_builds
    if unknown := set(chosen_by.names) - set(checks):
        options.error(f"no check is called {', '.join(sorted(unknown))}; there are {', '.join(checks)}")
    wanted = chosen_by.names or [name for name in checks if every_file or name not in whole_builds]
    failed = False
    for name in wanted:
        start = time.monotonic()
        error = checks[name]()
        print(f"{name:12}{'failed' if error else 'OK':8}{time.monotonic() - start:6.1f} s", flush=True)
        if error:
            failed = True
            print(error, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
