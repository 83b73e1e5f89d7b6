#!/usr/bin/env python3
"""Writes the files of wav_test.cpp: by Python's own module, and by SciPy what that does not know.

python3 tests/data/sound/wav_figures.py
"""

import io
import wave

import numpy as np
import scipy.io.wavfile


def plain(width, frames):
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(width)
        writer.setframerate(8000)
        writer.writeframes(frames)
    return file.getvalue()


def by_scipy(array):
    file = io.BytesIO()
    scipy.io.wavfile.write(file, 44100, array)
    return file.getvalue()


def show(name, contents):
    print(f'constexpr std::string_view {name} =\n    "' + contents.hex() + '";')


def little(values, width):
    return b"".join(int(v).to_bytes(width, "little", signed=True) for v in values)


show("kPcm8", plain(1, bytes([0, 128, 255, 64, 129, 127])))
show("kPcm16", plain(2, little([-32768, 0, 32767, 1, -1, 16384], 2)))
show("kPcm24", plain(3, little([-8388608, 0, 8388607, 1, -1, 4194304], 3)))
show("kPcm32", plain(4, little([-(2**31), 0, 2**30, 1 << 8, -(1 << 8), 3 << 29], 4)))
show("kFloat32", by_scipy(np.array([0.5, -1.25, 1e-20], np.float32)))
show("kFloat64", by_scipy(np.array([[0.5, -1.25], [0.1, 3]], np.float64)))
