#!/usr/bin/env python3
"""Computes the `value` of each row of "figures" in special_figures.json again from its function and operands, with 40 digits. "edges"
are definitions, written by hand. Needs mpmath:  python3 special_figures.py"""
import json
import pathlib

import mpmath
from mpmath import mp

mp.dps = 40


def ndtri(p):
    """1 - 2 p needs as many digits more as p has zeros."""
    with mp.workdps(mp.dps - int(mp.log10(p))):
        return -mp.sqrt(2) * mp.erfinv(1 - 2 * p)


FUNCTIONS = {
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "ndtr": mp.ncdf,
    "log_ndtr": lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2),
    "ndtri": ndtri,
    "bessel_j0": lambda x: mp.besselj(0, x),
    "bessel_j1": lambda x: mp.besselj(1, x),
    "bessel_y0": lambda x: mp.bessely(0, x),
    "bessel_y1": lambda x: mp.bessely(1, x),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
    "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "modified_bessel_k0": lambda x: mp.besselk(0, x),
    "modified_bessel_k1": lambda x: mp.besselk(1, x),
    "scaled_modified_bessel_k0": lambda x: mp.exp(x) * mp.besselk(0, x),
    "scaled_modified_bessel_k1": lambda x: mp.exp(x) * mp.besselk(1, x),
    "spherical_bessel_j0": mp.sinc,
    "igamma": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "igammac": lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "zeta": mp.zeta,
    "chebyshev_t": lambda x, n: mp.chebyt(n, x),
    "chebyshev_u": lambda x, n: mp.chebyu(n, x),
    "chebyshev_v": lambda x, n: mp.chebyu(n, x) - mp.chebyu(n - 1, x),
    "chebyshev_w": lambda x, n: mp.chebyu(n, x) + mp.chebyu(n - 1, x),
    "hermite_h": lambda x, n: mp.hermite(n, x),
    "hermite_he": lambda x, n: mp.hermite(n, x / mp.sqrt(2)) / mp.sqrt(2) ** n,
    "legendre_p": lambda x, n: mp.legendre(n, x),
    "laguerre_l": lambda x, n: mp.laguerre(n, 0, x),
}


def quoted(number):
    return f'"{number}"' if number in ("nan", "inf", "-inf") else number


def row(function, operands, value):
    return f'{{"function":"{function}","operands":[{",".join(operands)}],"value":{value}}}'


def computed(function, operands):
    value = FUNCTIONS[function](*(mp.mpf(float(x)) for x in operands))
    return mp.nstr(value, 17, max_fixed=12)


def main():
    file = pathlib.Path(__file__).with_suffix(".json")
    stored = json.loads(file.read_text(), parse_int=str, parse_float=str)  # numbers keep their digits
    figures = [row(f["function"], f["operands"], computed(f["function"], f["operands"])) for f in stored["figures"]]
    edges = [row(e["function"], map(quoted, e["operands"]), quoted(e["value"])) for e in stored["edges"]]
    file.write_text(f'{{"made_with": "mpmath {mpmath.__version__}, with 40 digits",\n"figures": [\n' + ",\n".join(figures) +
                    '],\n"edges": [\n' + ",\n".join(edges) + "]}\n")


if __name__ == "__main__":
    main()
