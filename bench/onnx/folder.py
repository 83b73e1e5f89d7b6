#!/usr/bin/env python3
"""Any .onnx files, run by Kiln and by ONNX Runtime on the same random inputs, in turns: folder.py FILE_OR_FOLDER...

A size that a file leaves open is 1 along the first axis, and elsewhere what --free says, or what --size says of its name
('sequence=12') or place ('x[2]=640'); 'sr:=16000' fills an input with a number. Integers are drawn below --below. What
fails, or differs by more than --difference, is named at the end."""

import argparse
import math
import pathlib
import re
import sys
import tempfile

import numpy
import onnxruntime

import suite

NUMPY = {"float": "float32", "float16": "float16", "double": "float64", "bool": "bool"}


def shape_of(place, options):
    sizes = dict(each.rsplit("=", 1) for each in options.size)
    shape = []
    for axis, size in enumerate(place.shape):
        if not isinstance(size, int):
            default = 1 if axis == 0 else options.free
            size = int(sizes.get(f"{place.name}[{axis}]", sizes.get(str(size), default)))
        shape.append(size)
    return shape


def random_input(place, options, generator):
    """What an input of a session takes; raises ValueError for a type that has no random numbers."""
    kind = re.fullmatch(r"tensor\((\w+)\)", place.type)
    name = kind and NUMPY.get(kind[1], kind[1])
    if not name or not hasattr(numpy, name):
        raise ValueError(f"input '{place.name}' is of type {place.type}")
    shape = shape_of(place, options)
    for each in options.size:
        if each.startswith(f"{place.name}:="):
            return numpy.full(shape, float(each.split(":=")[1])).astype(name)
    if name == "bool":
        return numpy.ones(shape, bool)
    if name.startswith("float"):
        return generator.standard_normal(shape).astype(name)
    return generator.integers(0, options.below, shape).astype(name)


def prepare(path, directory, options):
    """Writes an .npy file for each input; answers with their shapes."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
    generator, shapes = numpy.random.default_rng(0), []
    for i, place in enumerate(session.get_inputs()):
        made = random_input(place, options, generator)
        shapes.append("x".join(map(str, made.shape)) or "1")
        numpy.save(f"{directory}/{i:03} input.npy", made)
    return " ".join(shapes)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--size", nargs="*", default=[], metavar="NAME=NUMBER")
    parser.add_argument("--free", type=int, default=32, help="a size left open along other axes than the first")
    parser.add_argument("--below", type=int, default=2, help="what random integers are below")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1, help="for each file and side")
    parser.add_argument("--rounds", type=int, default=3, help="turns that these seconds are cut into")
    parser.add_argument("--difference", type=float, default=1e-3, help="as a share of an output's largest number")
    parser.add_argument("--program", type=pathlib.Path, default=suite.PROGRAM, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    files = [file for each in options.files for file in (sorted(each.rglob("*.onnx")) if each.is_dir() else [each])]
    print(f"{'ms':48}{'kiln':>10}{'ort':>10}{'ratio':>7}{'kiln cpu':>10}{'ort cpu':>10}{'ratio':>7}{'difference':>12}  inputs")
    wrong, ratios = [], []
    for file in files:
        with tempfile.TemporaryDirectory() as directory:
            try:
                shapes = prepare(file, directory, options)
            except Exception as error:  # ONNX Runtime has no common base for its own
                wrong.append(f"{file.name}: ONNX Runtime, or its inputs: {error}")
                continue
            entry = suite.measure(file, directory, options.threads, options)
        if entry is None:
            wrong.append(f"{file.name}: a side failed, see above; inputs {shapes}")
            continue
        if not entry["difference"] < options.difference:
            wrong.append(f"{file.name}: outputs differ by {entry['difference']:.1e}; inputs {shapes}")
        wall, cpu = entry["ms"], entry["processor_ms"]
        ratios.append(wall["ratio"])
        print(f"{file.name[-47:]:48}{wall['kiln']:10.3f}{wall['ort']:10.3f}{wall['ratio']:7.2f}{cpu['kiln']:10.3f}"
              f"{cpu['ort']:10.3f}{cpu['ratio']:7.2f}{entry['difference']:12.1e}  {shapes}", flush=True)  # fmt: skip
    if ratios:
        mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} of {len(files)} files ran: Kiln is {mean:.2f} times as fast, at least {min(ratios):.2f}")
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
