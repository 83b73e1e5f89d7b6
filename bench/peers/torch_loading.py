#!/usr/bin/env python3
"""Milliseconds from a file to a model: PyTorch's torch.load(mmap=True) and safetensors, and bench_loading beside them, in turn.
Writes model.pt and model.safetensors into the folder if they are not there.

usage: torch_loading.py BENCH_LOADING FOLDER [--matrices N] [--side N] [--rounds N]"""

import argparse
import pathlib
import re
import statistics
import subprocess
import time

import torch
from safetensors.torch import load_file, save_file


def torch_round(file, model):
    """Until the model has the file's tensors, and until each element has been read."""
    start = time.perf_counter()
    state = load_file(file) if file.suffix == ".safetensors" else torch.load(file, mmap=True)
    model.load_state_dict(state, assign=True)
    loaded = time.perf_counter()
    for parameter in model.parameters():
        parameter.detach().sum().item()
    return 1e3 * (loaded - start), 1e3 * (time.perf_counter() - start)


def kiln_round(options, file):
    command = [options.program, "--file", file, "--matrices", options.matrices, "--side", options.side, "--rounds", 1]
    said = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    return tuple(float(number) for number in re.findall(r"([\d.]+) ms", said))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program"), parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--matrices", type=int, default=30)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    names = [f"layers.{i}.weight" for i in range(options.matrices)]
    files = [options.folder / "model.safetensors", options.folder / "model.pt"]
    if not all(file.exists() for file in files):
        options.folder.mkdir(parents=True, exist_ok=True)
        state = {name: torch.randn(options.side, options.side) for name in names}
        save_file(state, files[0])
        torch.save(state, files[1])
    with torch.device("meta"):
        model = torch.nn.Module()
        model.layers = torch.nn.ModuleList(
            torch.nn.Linear(options.side, options.side, bias=False) for _ in range(options.matrices)
        )
    for file in files:
        rounds = [(torch_round(file, model), kiln_round(options, file)) for _ in range(options.rounds)]
        size = file.stat().st_size / 1e6
        for side, name in enumerate(("torch", "kiln")):
            loaded, read = (statistics.median(both[side][i] for both in rounds) for i in (0, 1))
            print(f"{file.suffix} of {size:.0f} MB, {name}: {loaded:.2f} ms loaded, {read:.1f} ms until all is read")


if __name__ == "__main__":
    main()
