"""Functions of numbers that are made of others, and activations with options."""
import torch
import torch.nn.functional as F

from golden import case

SPECIAL = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.5])
case("deg2rad", lambda r: r.real(6, low=-90, high=90), torch.deg2rad)
case("rad2deg", lambda r: r.real(6), torch.rad2deg)
case("trigamma", lambda r: r.real(6, low=0.2, high=9), lambda x: torch.polygamma(1, x))
case("float_power", lambda r: [r.real(6, low=0.2, high=3), r.real(6)], torch.float_power)
case("threshold", lambda r: r.real(12), lambda x: F.threshold(x, 0.3, -7.0))
case("hardtanh", lambda r: r.real(12), lambda x: F.hardtanh(x, -0.4, 1.2))
case("softplus.beta", lambda r: r.real(12, low=-9, high=9), lambda x: F.softplus(x, beta=3, threshold=12))
case("prelu", lambda r: [r.real(2, 3, 4), r.real(3, low=0.1, high=0.4)], F.prelu)
case("glu", lambda r: r.real(3, 6), lambda x: F.glu(x, 1))
case("clamp_min", lambda r: r.real(12), lambda x: torch.clamp_min(x, 0.2))
case("clamp_max", lambda r: r.real(12), lambda x: torch.clamp_max(x, 0.2))
case("lerp", lambda r: [r.real(3, 4), r.real(3, 4), r.real(4)], torch.lerp)
case("addcmul", lambda r: [r.real(3, 4), r.real(4), r.real(3, 1)], lambda x, a, b: torch.addcmul(x, a, b, value=0.5))
case("addcdiv", lambda r: [r.real(3, 4), r.real(4), r.real(3, 1, low=0.5)], lambda x, a, b: torch.addcdiv(x, a, b, value=0.5))
case("is_posinf", lambda r: SPECIAL, torch.isposinf)
case("is_neginf", lambda r: SPECIAL, torch.isneginf)
case("nan_to_num", lambda r: SPECIAL, lambda x: torch.nan_to_num(x, 0.5, 9.0, -9.0))
case("is_close", lambda r: [torch.tensor([1.0, 1.0, float("inf"), float("nan"), 0.0]),
                            torch.tensor([1.0000001, 1.1, float("inf"), float("nan"), 1e-9])], torch.isclose)
case("softmin", lambda r: r.real(3, 4), lambda x: F.softmin(x, 1))
case("quiet_softmax", lambda r: r.real(3, 4), lambda x: x.exp() / (1 + x.exp().sum(1, keepdim=True)))
