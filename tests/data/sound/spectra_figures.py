"""Writes spectra_figures.json: mel spectrograms, cepstral coefficients and resampled sounds by the formulas of torchaudio's
documentation (MelSpectrogram, AmplitudeToDB, MFCC, Resample), in float64 with numpy and scipy, frame by frame."""
import json
import math
import pathlib

import numpy as np
import scipy
import scipy.fft
import scipy.special

TIME = 300
SOUND = [math.sin(0.1 * t) + 0.3 * math.cos(0.37 * t + 1) * (t / TIME) + 0.05 * ((t * 7919) % 101 / 101 - 0.5) for t in range(TIME)]


def to_mel(hz, slaney):
    if not slaney:
        return 2595 * np.log10(1 + hz / 700)
    return hz * 3 / 200 if hz < 1000 else 15 + np.log(hz / 1000) * 27 / np.log(6.4)


def to_hz(mel, slaney):
    if not slaney:
        return 700 * (10 ** (mel / 2595) - 1)
    return mel * 200 / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)


def filters(rate, n_fft, n_mels, f_min, f_max, slaney, norm):
    """The triangles by interpolation between their corners."""
    edges = [to_hz(mel, slaney) for mel in np.linspace(to_mel(f_min, slaney), to_mel(f_max, slaney), n_mels + 2)]
    hz = np.linspace(0, rate // 2, n_fft // 2 + 1)
    rows = [np.interp(hz, edges[i:i + 3], [0, 1, 0], left=0, right=0) * (2 / (edges[i + 2] - edges[i]) if norm else 1)
            for i in range(n_mels)]
    return np.array(rows)


def mel(sample_rate=16000, n_fft=64, win_length=0, hop_length=0, f_min=0.0, f_max=0.0, n_mels=8, power=2.0, slaney=False,
        norm=False, center=True):
    win_length = win_length or n_fft
    hop_length = hop_length or win_length // 2
    window = np.zeros(n_fft)
    left = (n_fft - win_length) // 2
    window[left:left + win_length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    x = np.pad(SOUND, n_fft // 2, mode="reflect") if center else np.array(SOUND)
    frames = [x[i:i + n_fft] * window for i in range(0, len(x) - n_fft + 1, hop_length)]
    spectrum = np.abs(np.fft.rfft(frames)) ** power
    return filters(sample_rate, n_fft, n_mels, f_min, f_max or sample_rate // 2, slaney, norm) @ spectrum.T


def decibels(x, multiplier=10.0, least=1e-10, reference=1.0, top=None):
    loudness = multiplier * np.log10(np.maximum(x, least) / max(least, reference))
    return loudness if top is None else np.maximum(loudness, loudness.max() - top)


def mfcc(n_mfcc, log_mels, **options):
    spectrum = mel(**options)
    loudness = np.log(spectrum + 1e-6) if log_mels else decibels(spectrum, top=80)
    return scipy.fft.dct(loudness, type=2, norm="ortho", axis=0)[:n_mfcc]


def resample(source, target, width=6, rolloff=0.99, beta=None):
    """Each element of the result by itself: the sum over the sound of a windowed sinc around its place."""
    common = math.gcd(source, target)
    source, target = source // common, target // common
    rate = min(source, target) * rolloff
    out = []
    for n in range(math.ceil(target * TIME / source)):
        # The window's zeros bound the sum; the element's place, in units of the sound's.
        total = 0.0
        for t, x in enumerate(SOUND):
            at = (t / source - n / target) * rate
            if abs(at) >= width:
                continue
            window = math.cos(at * math.pi / width / 2) ** 2 if beta is None else \
                scipy.special.i0(beta * math.sqrt(1 - (at / width) ** 2)) / scipy.special.i0(beta)
            total += x * np.sinc(at) * window * rate / source
        out.append(total)
    return np.array(out)


cases = []


def add(what, result, **options):
    cases.append({"what": what, **options, "shape": list(result.shape), "result": [float(f"{v:.12g}") for v in result.ravel()]})


add("mel", mel())
for options in ({"slaney": True, "norm": True, "power": 1.0}, {"win_length": 40, "hop_length": 25, "center": False},
                {"f_min": 300.0, "f_max": 5000.0, "sample_rate": 22050, "power": 1.5}):
    add("mel", mel(**options), **options)
for options in ({"n_mfcc": 5, "log_mels": False}, {"n_mfcc": 8, "log_mels": True, "slaney": True}):
    add("mfcc", mfcc(**options), **options)
for options in ({"source": 16000, "target": 8000}, {"source": 8000, "target": 22050}, {"source": 48000, "target": 44100, "width": 16},
                {"source": 3, "target": 4, "rolloff": 0.9, "beta": 14.769656459379492}):
    add("resample", resample(**options), **options)
lines = ",\n".join(json.dumps(case) for case in cases)
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "numpy {np.__version__}, scipy {scipy.__version__}",\n"x": {json.dumps([float(f"{v:.12g}") for v in SOUND])},\n'
    f'"cases": [\n{lines}\n]}}\n')
