#!/usr/bin/env python3
"""Pictures a second from a folder of JPEG files to batches: PyTorch's DataLoader with torchvision, and bench_pictures beside it,
in turn. Makes the folder if it is not there.

usage: torch_pictures.py BENCH_PICTURES FOLDER [--workers N] [--rounds N] [--pictures N]"""

import argparse
import pathlib
import re
import resource
import statistics
import subprocess
import time

import numpy
import torch
from PIL import Image
from torchvision import datasets, transforms

BATCH, SIDE = 32, 224


def make_folder(folder, count):
    """Photos' like: smooth, with some grain, 500 x 375 pixels, 60 to 90 kB."""
    random = numpy.random.default_rng(1)
    for i in range(count):
        rough = random.integers(0, 256, (12, 16, 3), dtype=numpy.uint8)
        smooth = numpy.asarray(Image.fromarray(rough).resize((500, 375), Image.BICUBIC), dtype=numpy.int16)
        grain = random.normal(0, 12, smooth.shape).astype(numpy.int16)
        path = folder / str(i % 4) / f"{i}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((smooth + grain).clip(0, 255).astype(numpy.uint8)).save(path, quality=90)


def processor_seconds():
    return sum(
        u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def torch_round(loader):
    """Pictures a second, and processor milliseconds of each; workers end with the epoch, so that their time is known."""
    wall, processor, count = time.perf_counter(), processor_seconds(), 0
    for images, _ in loader:
        count += len(images)
    wall = time.perf_counter() - wall
    return count / wall, 1e3 * (processor_seconds() - processor) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program"), parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pictures", type=int, default=400)
    options = parser.parse_args()
    if not options.folder.exists():
        make_folder(options.folder, options.pictures)
    torch.set_num_threads(1)
    change = transforms.Compose(
        [
            transforms.RandomResizedCrop(SIDE),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(options.folder, change), BATCH, shuffle=True, num_workers=options.workers
    )
    theirs, ours = [], []
    for _ in range(options.rounds):
        theirs.append(torch_round(loader))
        said = subprocess.run(
            [options.program, "--data", options.folder, "--workers", str(options.workers), "--rounds", "1"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        ours.append(tuple(map(float, re.search(r"([\d.]+) pictures/s, ([\d.]+) ms", said).groups())))
        print(
            f"PyTorch {theirs[-1][0]:.0f}/s, {theirs[-1][1]:.2f} ms; Kiln {ours[-1][0]:.0f}/s, {ours[-1][1]:.2f} ms",
            flush=True,
        )
    by_clock = statistics.median(a[0] / b[0] for a, b in zip(ours, theirs))
    by_processor = statistics.median(b[1] / a[1] for a, b in zip(ours, theirs))
    print(
        f"Kiln is {by_clock:.2f} times as fast by the clock, {by_processor:.2f} times by processor time (medians of {options.rounds})"
    )


if __name__ == "__main__":
    main()
