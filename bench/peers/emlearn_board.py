"""Networks of emlearn (PyPI) on the boards of tests/compile: how many instructions one run takes.

    python3 -m venv v && v/bin/pip install emlearn && v/bin/python bench/peers/emlearn_board.py

The counts of what `kiln compile` makes of the same networks are printed by test_boards (Boards.CountsInstructions).
"""
import pathlib
import subprocess
import tempfile

import emlearn
import numpy
from emlearn.net import c_generate_net_loadable

BOARD = pathlib.Path(__file__).resolve().parents[2] / "tests/compile/board"
INCLUDE = pathlib.Path(emlearn.__file__).parent
NETWORKS = {"784-32-10": [784, 32, 10], "64-32-10": [64, 32, 10], "640-128-8-128-640": [640, 128, 8, 128, 640]}
BOARDS = {
    "m0": ("-Os -mcpu=cortex-m0", "microbit", 62.5, "code_length=256K", "data_length=16K"),
    "m4": ("-O2 -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16", "mps2-an386", 40, "code_length=4M", "data_length=4M"),
}


def source(sizes):
    random = numpy.random.default_rng(1)
    weights = [random.uniform(-0.1, 0.1, pair).astype("float32") for pair in zip(sizes, sizes[1:])]
    biases = [random.uniform(-0.1, 0.1, size).astype("float32") for size in sizes[1:]]
    activations = ["relu"] * (len(weights) - 1) + ["softmax" if sizes[-1] == 10 else "identity"]
    return c_generate_net_loadable(activations, weights, biases, prefix="net")


def instructions(board, sizes):
    flags, machine, nanoseconds, code, data = BOARDS[board]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "main.c").write_text(
            f"#include <string.h>\n{source(sizes)}\n#include \"board.h\"\n"
            f"static float input[{sizes[0]}];\nvolatile int answer;\nint main(void) {{\n"
            "  const unsigned long before = ticks();\n"
            f"  answer = net_predict(input, {sizes[0]});\n"
            '  say_number("ticks", (long)((ticks() - before) & 0xFFFFFFul));\n  return 0;\n}\n')
        symbols = " ".join(f"-Wl,--defsym={each}" for each in ("code_origin=0", "data_origin=0x20000000", code, data))
        subprocess.run(
            f"arm-none-eabi-gcc --specs=nano.specs -mthumb {flags} -std=gnu11 -nostartfiles -ffunction-sections "
            f"-fdata-sections -Wl,--gc-sections {symbols} -T {BOARD}/board.ld -I {BOARD} -I {INCLUDE} "
            f"-o {folder}/program {BOARD}/arm.c {folder}/main.c -lm", shell=True, check=True)
        said = subprocess.run(
            f"qemu-system-arm -machine {machine} -display none -monitor none -serial none -icount shift=0 "
            f"-semihosting-config enable=on,target=native -kernel {folder}/program",
            shell=True, check=True, capture_output=True, text=True, timeout=60)
        ticks = int((said.stdout + said.stderr).split("ticks ")[1].split()[0])
        return round(ticks * nanoseconds)


for name, sizes in NETWORKS.items():
    for board in BOARDS:
        if board != "m0" or sizes[0] * sizes[1] * 4 < 256 * 1024:  # its flash
            print(f"{board} {name}: {instructions(board, sizes)} instructions", flush=True)
