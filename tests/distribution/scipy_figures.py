"""Writes scipy.safetensors: distribution functions of the parameters and numbers in torch.safetensors that PyTorch does not
have, NAME.cdf; and of NAME.share, which are shares, the numbers below which they lie, NAME.icdf. By SciPy in float64. Needs
scipy and safetensors:  python3 scipy_figures.py torch.safetensors scipy.safetensors"""
import sys

import numpy as np
import scipy
from scipy import stats
from safetensors.numpy import load_file, save_file

STORED, FIGURES = load_file(sys.argv[1]), {}
SHARES = np.random.default_rng(5).uniform(size=(4, 5))


def parameters(name):
    return [STORED[f"{name}.parameter.{i}"] for i in range(3) if f"{name}.parameter.{i}" in STORED]


def cdf(name, make):
    FIGURES[f"{name}.cdf"] = make(*parameters(name)).cdf(STORED[f"{name}.x"])


def icdf(name, make):
    FIGURES[f"{name}.share"] = SHARES
    FIGURES[f"{name}.icdf"] = make(*parameters(name)).ppf(SHARES)


cdf("gamma", lambda a, rate: stats.gamma(a, scale=1 / rate))
cdf("beta", stats.beta)
cdf("student_t", stats.t)
cdf("binomial", lambda logits: stats.binom(9, 1 / (1 + np.exp(-logits))))
cdf("poisson", stats.poisson)
icdf("normal", stats.norm)
icdf("log_normal", lambda location, scale: stats.lognorm(scale, scale=np.exp(location)))
icdf("uniform", lambda low, high: stats.uniform(low, high - low))
icdf("exponential", lambda rate: stats.expon(scale=1 / rate))
icdf("laplace", stats.laplace)
save_file({name: np.ascontiguousarray(figure) for name, figure in FIGURES.items()}, sys.argv[2],
          metadata={"made_with": f"SciPy {scipy.__version__}"})
