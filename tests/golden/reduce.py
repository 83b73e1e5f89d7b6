"""Folds."""
import torch

from golden import case

for name in ("sum", "mean", "prod"):
    function = getattr(torch, name)
    case(name, lambda r: r.real(3, 4), function)
    case(f"{name}.dim", lambda r: r.real(2, 3, 4), lambda x: function(x, 1))
for name in ("amax", "amin"):
    case(f"{name[1:]}.dims", lambda r: r.real(2, 3, 4), lambda x: getattr(torch, name)(x, (0, 2), keepdim=True))
case("sum.integers", lambda r: r.whole(3, 4), lambda x: x.sum(0))
case("any", lambda r: r.flag(3, 4), lambda x: x.any(1))
case("all", lambda r: r.flag(3, 2), lambda x: x.all(1))
case("argmax", lambda r: r.real(3, 4), lambda x: x.argmax(1))
case("argmin", lambda r: r.real(3, 4), lambda x: x.argmin(0, keepdim=True))
case("variance", lambda r: r.real(3, 5), lambda x: x.var(1))
case("variance.biased", lambda r: r.real(3, 5), lambda x: x.var(1, correction=0))
case("deviation", lambda r: r.real(3, 5), lambda x: x.std(1))
case("softmax", lambda r: r.real(3, 4), lambda x: x.softmax(1))
case("softmax.first", lambda r: r.real(3, 4), lambda x: x.softmax(0))
case("log_softmax", lambda r: r.real(3, 4), lambda x: x.log_softmax(1))
case("prod.of_a_zero", lambda r: torch.tensor([[1.5, 0, -2], [0, 3, 0]]), lambda x: x.prod(1))
case("max.ties", lambda r: torch.tensor([[1.0, 3, 3], [2, 2, 2]]), lambda x: x.amax(1), grad=False)
case("matmul", lambda r: [r.real(3, 4), r.real(4, 2)], torch.matmul)
case("matmul.batch", lambda r: [r.real(2, 1, 3, 4), r.real(2, 4, 2)], torch.matmul)
