#!/usr/bin/env python3
"""compile_kernels.py PROFILE PROGRAM [ARGS]: prints every kernel that the tests make on a simulated device, and shows each to
the compilers of its language that the machine has: glslangValidator and spirv-val, tint and naga, hipcc, or a C++ compiler
with declarations of Metal's library. Exits with 77 where there is none."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

METAL = pathlib.Path(__file__).parent.parent / "gpu" / "metal"


def said(command):
    """What a command prints if it fails."""
    made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return (made.stdout or f"{command[0]} fails without a word") if made.returncode else ""


def contracted(words):
    """Names a sum that the driver may join with a product, so that it is rounded once and not twice."""
    listing = subprocess.run(["spirv-dis", "--raw-id", str(words)], stdout=subprocess.PIPE, text=True, check=True).stdout
    kept = set(re.findall(r"OpDecorate (%\d+) NoContraction", listing))
    products = set(re.findall(r"(%\d+) = OpFMul ", listing)) - kept
    sums = re.findall(r"(%\d+) = OpF(?:Add|Sub) %\d+ (%\d+) (%\d+)", listing)
    loose = [name for name, *operands in sums if name not in kept and products.intersection(operands)]
    return f"{len(loose)} sums are not precise, {loose[0]} is the first\n" if loose else ""


def check_glsl(path):
    words = path.with_suffix(".spv")
    found = said(["glslangValidator", "--quiet", "--target-env", "vulkan1.2", "-o", str(words), str(path)])
    if not found and shutil.which("spirv-val"):
        found = said(["spirv-val", "--target-env", "vulkan1.2", str(words)])
    if not found and shutil.which("spirv-dis"):
        found = contracted(words)
    return found


def check_wgsl(path):
    checkers = [words for words in (["tint", "--format", "wgsl", "-o", "/dev/null"], ["naga"]) if shutil.which(words[0])]
    return "".join(said([*words, str(path)]) for words in checkers)


# By ending: the library's header, and the compiler. All kernels are compiled at once, as it reads its library once.
TOGETHER = {
    ".metal": ("metal_stdlib", ["c++", "-std=c++20", "-fsyntax-only", "-isystem", str(METAL)]),
    ".hip": ("hip/hip_runtime.h", ["hipcc", "-x", "hip", "-std=c++17", "--cuda-device-only", "--offload-arch=gfx90a",
                                   "--offload-arch=gfx1030", "-c", "-o", os.devnull]),
}


def check_together(paths, header, command):
    """Each in a namespace of its own."""
    source = paths[0].parent / "all.cpp"
    lines = [f"#include <{header}>"]
    for i, path in enumerate(paths):
        path.write_text(path.read_text().replace('extern "C" __global__', "__global__"))  # such names know no namespace
        lines.append(f'namespace kernel{i} {{\n#include "{path}"\n}}')
    source.write_text("\n".join(lines))
    return said([*command, str(source)])


def complaints(folder):
    """Of all kernels, by file."""
    found = {}
    for ending, tool, check in ((".comp", "glslangValidator", check_glsl), (".wgsl", "tint", check_wgsl)):
        paths = sorted(folder.glob("*" + ending))
        if paths and not (shutil.which(tool) or (ending == ".wgsl" and shutil.which("naga"))):
            return None
        found.update({path: check(path) for path in paths})
    for ending, (header, command) in TOGETHER.items():
        paths = sorted(folder.glob("*" + ending))
        if paths and not shutil.which(command[0]):
            return None
        for i in range(0, len(paths), 200):
            found.update(dict.fromkeys(paths[i : i + 200], ""))
            found[paths[i]] = check_together(paths[i : i + 200], header, command)
    return found


def main():
    profile, program = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, KILN_TEST_KERNELS=folder, KILN_TEST_DEVICES=f"fused printed:simulated:{profile}")
        if subprocess.run(program, env=environment, check=False).returncode:
            return 1
        found = complaints(pathlib.Path(folder))
        if found is None:
            print("no compiler")
            return 77
        refused = {path: words for path, words in found.items() if words}
        for path, words in list(refused.items())[:5]:
            print(f"{path.name}:\n{words[:3000]}\n{path.read_text()[:6000]}")
        print(f"{len(found)} kernels, {len(refused)} refused")
        return 1 if refused or not found else 0


if __name__ == "__main__":
    sys.exit(main())
