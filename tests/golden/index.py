"""Reading and writing at indices and masks."""
import torch

from golden import case

REDUCE = {"add": "sum", "multiply": "prod", "minimum": "amin", "maximum": "amax"}
case("gather", lambda r: [r.real(3, 4), r.whole(3, 2, high=4)], lambda x, i: x.gather(1, i))
case("scatter_add", lambda r: [r.real(3, 4), r.whole(3, 3, high=4), r.real(3, 3)], lambda x, i, s: x.scatter_add(1, i, s))
case("scatter.assign", lambda r: [r.real(3, 4), torch.tensor([[0, 2], [3, 1], [1, 0]]), r.real(3, 2)],
     lambda x, i, s: x.scatter(1, i, s))
for mode, reduce in REDUCE.items():
    case(f"scatter.{mode}", lambda r: [r.real(3, 4), r.whole(3, 3, high=4), r.real(3, 3)],
         lambda x, i, s: x.scatter_reduce(1, i, s, reduce))
case("select", lambda r: [r.real(4, 3), r.whole(5, high=4)], lambda x, i: x.index_select(0, i))
case("select_add", lambda r: [r.real(4, 3), r.whole(5, high=4), r.real(5, 3)], lambda x, i, s: x.index_add(0, i, s))
case("index_copy", lambda r: [r.real(4, 3), torch.tensor([2, 0]), r.real(2, 3)], lambda x, i, s: x.index_copy(0, i, s))
case("index_fill", lambda r: [r.real(4, 3), torch.tensor([2, 0])], lambda x, i: x.index_fill(0, i, 7.0))
case("take", lambda r: [r.real(3, 4), r.whole(2, 2, low=-12, high=12)], torch.take)
case("take_along_dim", lambda r: [r.real(3, 4), r.whole(1, 2, high=4)], lambda x, i: torch.take_along_dim(x, i, 1))
case("gather_nd", lambda r: [r.real(3, 4, 2), r.whole(5, 2, high=3)], lambda x, i: x[i[:, 0], i[:, 1]])
case("index_get", lambda r: [r.real(3, 4, 2), r.whole(2, 1, high=3), r.whole(3, high=4)], lambda x, i, j: x[i, j])
case("index_get.apart", lambda r: [r.real(3, 2, 4), r.whole(3, high=3), r.whole(3, high=4)], lambda x, i, j: x[i, :, j])
case("index_put", lambda r: [r.real(3, 4), torch.tensor([0, 2]), torch.tensor([3, 1]), r.real(2)],
     lambda x, i, j, s: x.index_put((i, j), s))
case("index_put.add", lambda r: [r.real(3, 4), torch.tensor([0, 2, 0]), torch.tensor([3, 1, 3]), r.real(3)],
     lambda x, i, j, s: x.index_put((i, j), s, accumulate=True))
case("nonzero", lambda r: r.flag(3, 4), lambda x: x.nonzero(as_tuple=True))
case("argwhere", lambda r: r.flag(3, 4), torch.argwhere)
case("mask_select", lambda r: [r.real(3, 4), r.flag(3, 4)], torch.masked_select)
case("mask_fill", lambda r: [r.real(3, 4), r.flag(3, 4)], lambda x, m: x.masked_fill(m, 7.0))
case("masked_scatter", lambda r: [r.real(3, 4), r.flag(3, 4), r.real(12)], torch.masked_scatter)
case("one_hot", lambda r: r.whole(5, high=4), lambda i: torch.nn.functional.one_hot(i, 4))
case("slice_assign", lambda r: [r.real(4, 3), r.real(2, 3)], lambda x, s: torch.slice_scatter(x, s, 0, 1, 3))
case("unravel_index", lambda r: r.whole(6, high=24), lambda i: torch.unravel_index(i, (2, 3, 4)))
