"""Statistics: of order, of counts, of what is there."""
import numpy as np
import torch

from golden import case, other

nan = float("nan")
HOLES = torch.tensor([[1.5, nan, -2.0, 0.25], [nan, 3.0, 4.5, -1.0], [2.0, 0.5, nan, 7.0]])
case("logsumexp", lambda r: r.real(2, 3, 4), lambda x: x.logsumexp((0, 2)))
case("variance_and_mean", lambda r: r.real(3, 5), lambda x: torch.var_mean(x, 1))
case("aminmax", lambda r: r.real(3, 5), lambda x: (x.amin(1), x.amax(1)))
case("count_nonzero", lambda r: r.whole(3, 6, high=3), lambda x: torch.count_nonzero(x, 1))
other("average", lambda r: [r.real(3, 4), r.real(3, 4, low=0.1)], lambda x, w: np.average(x, 1, w))
case("nansum", lambda r: HOLES, lambda x: x.nansum(1))
case("nanmean", lambda r: HOLES, lambda x: x.nanmean(0))
other("nanmax", lambda r: HOLES, lambda x: np.nanmax(x, 1))
other("nanmin", lambda r: HOLES, lambda x: np.nanmin(x, 1))
other("nanvar", lambda r: HOLES, lambda x: np.nanvar(x, 1, ddof=1))
other("nanstd", lambda r: HOLES, lambda x: np.nanstd(x, 0, ddof=1))
case("cov", lambda r: r.real(3, 5), torch.cov)
case("cov.biased", lambda r: r.real(3, 5), lambda x: torch.cov(x, correction=0))
case("corrcoef", lambda r: r.real(3, 5), torch.corrcoef)
for method in ("linear", "lower", "higher", "midpoint", "nearest"):
    case(f"quantile.{method}", lambda r: r.real(3, 6), lambda x: x.quantile(0.3, 1, interpolation=method))
case("quantile.several", lambda r: r.real(3, 6), lambda x: x.quantile(torch.tensor([0.0, 0.4, 1.0]), 1))
case("nanquantile", lambda r: HOLES, lambda x: x.nanquantile(0.6, 1))
case("median", lambda r: r.real(3, 6), lambda x: tuple(x.median(1)))
case("median.of_all", lambda r: r.real(3, 5), lambda x: x.median())
case("nanmedian", lambda r: HOLES, lambda x: tuple(x.nanmedian(1)))
case("bincount", lambda r: r.whole(12, high=5), lambda x: x.bincount(minlength=7))
case("bincount.weights", lambda r: [r.whole(12, high=5), r.real(12)], lambda x, w: x.bincount(w.detach()))
case("histc", lambda r: r.real(20), lambda x: x.detach().histc(5, -2, 2))
other("histogram", lambda r: r.real(20), lambda x: np.histogram(x, 6))
other("histogram.density", lambda r: r.real(20), lambda x: np.histogram(x, 4, (-1, 2), density=True))
other("histogram.edges", lambda r: [r.real(20), torch.tensor([-2.0, -0.5, 0.0, 1.5])], np.histogram)
case("unique", lambda r: r.whole(3, 5, high=6), lambda x: torch.unique(x, return_inverse=True, return_counts=True))
case("unique_consecutive", lambda r: r.whole(14, high=2),
     lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True))
case("diff", lambda r: r.real(3, 5), lambda x: x.diff(2, 1))
case("diff.prepend", lambda r: [r.real(3, 5), r.real(3, 1)], lambda x, p: x.diff(1, 1, prepend=p))
case("trapezoid", lambda r: r.real(3, 5), lambda x: torch.trapezoid(x, dx=0.5))
case("trapezoid.places", lambda r: [r.real(3, 5), torch.tensor([0.0, 0.5, 0.75, 2.0, 3.0])], lambda y, x: torch.trapezoid(y, x))
case("cumulative_trapezoid", lambda r: r.real(3, 5), lambda x: torch.cumulative_trapezoid(x, dx=0.5))
other("interp", lambda r: [r.real(9, low=-3, high=3), torch.tensor([-2.0, -0.5, 0.0, 1.5]), torch.tensor([1.0, 3, -1, 2])], np.interp)
