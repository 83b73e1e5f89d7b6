#!/usr/bin/env python3
"""Writes gamma_figures.json: for a Gamma distribution of concentration a, the derivative of log(x) by a where x keeps its place
among the quantiles: -(dF/da) / (x f(x)) by numerical differentiation with 60 digits. Needs mpmath:  python3 gamma_figures.py"""
import pathlib

import mpmath
from mpmath import mp

mp.dps = 60
ROWS = []
for a in map(mp.mpf, ("1", "1.5", "3", "10", "100", "1000", "20000")):
    for z in (-4, -1, 0, 1, 4):
        x = mp.mpf(float(a * (1 - 1 / (9 * a) + z / (3 * mp.sqrt(a))) ** 3)) if a > 3 or z > -2 else a * mp.mpf("0.001")
        x = mp.mpf(float(x))
        share = lambda b: mp.gammainc(b, 0, x, regularized=True)
        h = mp.sqrt(a) * mp.mpf(10) ** -15
        slope = (share(a - 2 * h) - 8 * share(a - h) + 8 * share(a + h) - share(a + 2 * h)) / (12 * h)
        density = mp.exp(a * mp.log(x) - x - mp.loggamma(a))  # times x
        ROWS.append(f'{{"a": {float(a)!r}, "x": {float(x)!r}, "slope": {mp.nstr(-slope / density, 17)}}}')
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "mpmath {mpmath.__version__}, with 60 digits",\n"figures": [\n' + ",\n".join(ROWS) + "]}\n")
