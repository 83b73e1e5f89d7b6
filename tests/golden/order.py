"""Sorting, searching, scans."""
import torch

from golden import case

case("sort", lambda r: r.real(3, 5), lambda x: tuple(x.sort(1)))
case("sort.descending", lambda r: r.real(3, 5), lambda x: tuple(x.sort(0, descending=True)))
case("argsort", lambda r: r.real(3, 5), lambda x: x.argsort(1))
case("msort", lambda r: r.real(4, 2), torch.msort)
case("topk", lambda r: r.real(3, 5), lambda x: tuple(x.topk(2, 1)))
case("topk.smallest", lambda r: r.real(3, 5), lambda x: tuple(x.topk(3, 1, largest=False)))
case("kthvalue", lambda r: r.real(3, 5), lambda x: tuple(x.kthvalue(2, 1)))
case("max_with_index", lambda r: r.real(3, 5), lambda x: tuple(x.max(1)))
case("min_with_index", lambda r: r.real(3, 5), lambda x: tuple(x.min(0, keepdim=True)))
case("mode.values", lambda r: r.whole(3, 9, high=4), lambda x: x.mode(1).values)
SORTED = torch.tensor([0.5, 1.0, 1.0, 2.5, 4.0])
case("searchsorted", lambda r: [SORTED, torch.tensor([[0.0, 1.0], [2.6, 9.0]])], torch.searchsorted)
case("searchsorted.right", lambda r: [SORTED, torch.tensor([[0.0, 1.0], [2.6, 9.0]])],
     lambda s, v: torch.searchsorted(s, v, right=True))
case("bucketize", lambda r: [torch.tensor([[0.0, 1.0], [2.6, 9.0]]), SORTED], torch.bucketize)

case("argmax.all", lambda r: r.real(3, 4), lambda x: x.argmax())
case("cumsum", lambda r: r.real(3, 4), lambda x: x.cumsum(1))
case("cumprod", lambda r: r.real(3, 4), lambda x: x.cumprod(0))
case("cumprod.of_a_zero", lambda r: torch.tensor([[1.5, 0, -2, 0.5], [2, 3, 0, 0]]), lambda x: x.cumprod(1))
case("cummax", lambda r: r.real(3, 4), lambda x: tuple(x.cummax(1)))
case("cummin", lambda r: r.real(3, 4), lambda x: tuple(x.cummin(0)))
case("logcumsumexp", lambda r: r.real(3, 4), lambda x: x.logcumsumexp(1))
