#!/usr/bin/env python3
"""Writes golden.safetensors anew: python3 tests/golden/make.py, where torch, numpy and scipy are installed."""
import pathlib
import sys

sys.dont_write_bytecode = True

import golden  # noqa: E402
import alignment, composed, conv, elementwise, fourier, index, linalg, order, reduce, sequence, spatial, statistic, view  # noqa: E401, E402, F401

golden.write(pathlib.Path(__file__).parent / "golden.safetensors")
