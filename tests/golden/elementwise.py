"""Functions of single elements. A range keeps away from poles, and from where PyTorch's slopes are undefined."""
import numpy as np
import scipy.special
import torch
import torch.nn.functional as F

from golden import case, other

UNARY = {
    "neg": (torch.neg,), "abs": (torch.abs,), "sign": (torch.sign,), "square": (torch.square,),
    "recip": (torch.reciprocal, 0.3, 3), "sqrt": (torch.sqrt, 0.1, 5), "rsqrt": (torch.rsqrt, 0.1, 5),
    "exp": (torch.exp, -4, 4), "exp2": (torch.exp2, -4, 4), "expm1": (torch.expm1, -1, 1),
    "log": (torch.log, 0.1, 9), "log2": (torch.log2, 0.1, 9), "log10": (torch.log10, 0.1, 9),
    "log1p": (torch.log1p, -0.8, 4), "sin": (torch.sin, -9, 9), "cos": (torch.cos, -9, 9), "tan": (torch.tan, -1.4, 1.4),
    "asin": (torch.asin, -0.9, 0.9), "acos": (torch.acos, -0.9, 0.9), "atan": (torch.atan, -9, 9),
    "sinh": (torch.sinh, -4, 4), "cosh": (torch.cosh, -4, 4), "tanh": (torch.tanh, -4, 4),
    "asinh": (torch.asinh, -9, 9), "acosh": (torch.acosh, 1.1, 9), "atanh": (torch.atanh, -0.9, 0.9),
    "erf": (torch.erf, -3, 3), "erfc": (torch.erfc, -3, 3), "erfinv": (torch.erfinv, -0.95, 0.95),
    "lgamma": (torch.lgamma, -3.6, 9), "digamma": (torch.digamma, 0.2, 9),
    "i0": (torch.i0, -4, 4), "i1": (torch.special.i1, -4, 4), "sinc": (torch.sinc, -3, 3),
    "logit": (torch.logit, 0.05, 0.95), "sigmoid": (torch.sigmoid, -6, 6), "log_sigmoid": (F.logsigmoid, -6, 6),
    "softplus": (F.softplus, -6, 6), "relu": (F.relu,), "relu6": (F.relu6, -2, 8), "selu": (F.selu, -3, 3),
    "gelu": (F.gelu, -4, 4), "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), -4, 4), "silu": (F.silu, -6, 6),
    "mish": (F.mish, -6, 6), "hard_sigmoid": (F.hardsigmoid, -5, 5), "hard_swish": (F.hardswish, -5, 5),
    "softsign": (F.softsign,), "tanhshrink": (F.tanhshrink,), "floor": (torch.floor, -5, 5), "ceil": (torch.ceil, -5, 5),
    "round": (torch.round, -5, 5), "trunc": (torch.trunc, -5, 5), "frac": (torch.frac, -5, 5),
}
for name, (function, *reach) in UNARY.items():
    low, high = reach or (-2, 2)
    case(name, lambda r: r.real(12, low=low, high=high), function)

BINARY = {
    "add": (torch.add,), "sub": (torch.sub,), "mul": (torch.mul,), "div": (torch.div, 0.5, 3),
    "floor_divide": (torch.floor_divide, 0.5, 3), "remainder": (torch.remainder, 0.5, 3), "fmod": (torch.fmod, 0.5, 3),
    "maximum": (torch.maximum,), "minimum": (torch.minimum,), "atan2": (torch.atan2,), "hypot": (torch.hypot,),
    "logaddexp": (torch.logaddexp,), "copysign": (torch.copysign,), "xlogy": (torch.xlogy, 0.5, 3),
    "heaviside": (torch.heaviside,), "eq": (torch.eq,), "ne": (torch.ne,), "lt": (torch.lt,), "le": (torch.le,),
    "gt": (torch.gt,), "ge": (torch.ge,),
}
for name, (function, *reach) in BINARY.items():
    low, high = reach or (-2, 2)
    case(name, lambda r: [r.real(3, 4, low=-4, high=4), r.real(4, low=low, high=high)], function,
         grad=name not in ("heaviside", "floor_divide"))
case("pow", lambda r: [r.real(3, 4, low=0.2, high=3), r.real(4)], torch.pow)
case("pow.negative_base", lambda r: [r.real(8)], lambda x: x ** 3)
case("leaky_relu", lambda r: r.real(12), lambda x: F.leaky_relu(x, 0.1))
case("elu", lambda r: r.real(12), lambda x: F.elu(x, 0.7))
case("celu", lambda r: r.real(12), lambda x: F.celu(x, 0.7))
case("hard_shrink", lambda r: r.real(12), lambda x: F.hardshrink(x, 0.6))
case("soft_shrink", lambda r: r.real(12), lambda x: F.softshrink(x, 0.6))
case("thresholded_relu", lambda r: r.real(12), lambda x: F.threshold(x, 0.8, 0.0))
case("polygamma.2", lambda r: r.real(8, low=0.5, high=6), lambda x: torch.polygamma(2, x))
case("clamp", lambda r: r.real(12), lambda x: torch.clamp(x, -0.7, 1.1))
case("where", lambda r: [r.flag(3, 4), r.real(3, 4), r.real(4)], torch.where)

SPECIAL = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.5])
case("is_nan", lambda r: SPECIAL, torch.isnan)
case("is_inf", lambda r: SPECIAL, torch.isinf)
case("is_finite", lambda r: SPECIAL, torch.isfinite)
case("signbit", lambda r: SPECIAL, torch.signbit)

INTEGER = {"bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor}
for name, function in INTEGER.items():
    case(name, lambda r: [r.whole(3, 4, low=-50, high=50), r.whole(4, low=-50, high=50)], function)
case("bitwise_not", lambda r: r.whole(9, low=-50, high=50), torch.bitwise_not)
case("shift_left", lambda r: [r.whole(9, low=-50, high=50), r.whole(9, low=0, high=9)], torch.bitwise_left_shift)
case("shift_right", lambda r: [r.whole(9, low=-500, high=500), r.whole(9, low=0, high=9)], torch.bitwise_right_shift)
case("remainder.integers", lambda r: [r.whole(9, low=-50, high=50), r.whole(9, low=1, high=9)], torch.remainder)
case("fmod.integers", lambda r: [r.whole(9, low=-50, high=50), r.whole(9, low=1, high=9)], torch.fmod)
case("floor_divide.integers", lambda r: [r.whole(9, low=-50, high=50), r.whole(9, low=1, high=9)], torch.floor_divide)
LOGIC = {"logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}
for name, function in LOGIC.items():
    case(name, lambda r: [r.flag(3, 4), r.flag(4)], function)
case("logical_not", lambda r: r.flag(7), torch.logical_not)

# SciPy, where it is the nearer authority: arguments beyond PyTorch's comfort.
other("lgamma.scipy", lambda r: r.real(12, low=0.1, high=40), scipy.special.gammaln)
other("digamma.scipy", lambda r: r.real(12, low=-3.6, high=20), scipy.special.digamma)
other("erfinv.scipy", lambda r: r.real(12, low=-0.999, high=0.999), scipy.special.erfinv)
other("i0.scipy", lambda r: r.real(12, low=-15, high=15), scipy.special.i0)
other("erfc.scipy", lambda r: r.real(12, low=2, high=9), scipy.special.erfc)
other("log1p.scipy", lambda r: r.real(12, low=-0.99, high=0.01), np.log1p)
