#include "kiln/onnx/passes/shape_rules.hpp"

#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

bool is(const Dim& dim, std::int64_t size) { return dim.value && *dim.value == size; }

Dim broadcast(const Dim& a, const Dim& b) {
  if (is(a, 1)) return b;
  if (is(b, 1) || is_same(a, b)) return a;
  if (a.value) return a;  // not 1, so that b is the same or 1
  if (b.value) return b;
  return {};
}

std::optional<PartialShape> broadcast(const std::optional<PartialShape>& a, const std::optional<PartialShape>& b) {
  if (!a || !b) return {};
  PartialShape shape(std::max(a->size(), b->size()), known(1));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim one = known(1);
    const Dim& x = i < a->size() ? (*a)[a->size() - 1 - i] : one;
    const Dim& y = i < b->size() ? (*b)[b->size() - 1 - i] : one;
    shape[shape.size() - 1 - i] = broadcast(x, y);
  }
  return shape;
}

// The dimensions that a node's axes are among `rank`; nothing where the axes are not known, or are no dimensions.
std::optional<std::vector<bool>> marked(const std::optional<Ints>& axes, std::size_t rank) {
  std::vector<bool> marks(rank);
  if (!axes) return {};
  for (const std::int64_t axis : *axes) {
    const auto at = index_of_dim(axis, rank);
    if (!at) return {};
    marks[*at] = true;
  }
  return marks;
}

MaybeShape reduced(const NodeShapes& n) {
  MaybeShape x = n.shape(0);
  const std::optional<Ints> axes = n.ints(1, "axes");
  const auto gone = marked(axes, x ? x->size() : 0);
  if (!x || !gone || axes->empty() || n.option("keepdims", 1) != 1) return {};
  for (std::size_t d = 0; d < x->size(); ++d)
    if ((*gone)[d]) (*x)[d] = known(1);
  return x;
}

MaybeShape broadcasted(const NodeShapes& n) {
  if (n.node.version < 7) return {};
  MaybeShape all = n.shape(0);
  for (std::size_t i = 1; i < n.node.inputs.size(); ++i) all = broadcast(all, n.shape(i));
  return all;
}

}  // namespace

MaybeShape picked(const PartialShape& x, const Ints& dims) {
  PartialShape made;
  for (const std::int64_t dim : dims) {
    const auto from = index_of_dim(dim, x.size());
    if (!from) return {};
    made.push_back(x[*from]);
  }
  return made;
}

namespace shape_rules {

MaybeShape transpose(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  if (!x) return {};
  const Attribute* const given = find_attribute(n.node, "perm");
  return given ? picked(*x, given->ints) : PartialShape(x->rbegin(), x->rend());
}

MaybeShape matmul(const NodeShapes& n) {
  MaybeShape a = n.shape(0), b = n.shape(1);
  if (!a || !b || a->size() < 2 || b->size() < 2) return {};
  const Dim rows = (*a)[a->size() - 2], columns = b->back();
  a->resize(a->size() - 2), b->resize(b->size() - 2);
  MaybeShape made = broadcast(a, b);
  made->push_back(rows);
  made->push_back(columns);
  return made;
}

MaybeShape gemm(const NodeShapes& n) {
  const MaybeShape a = n.shape(0), b = n.shape(1);
  if (!a || !b || a->size() != 2 || b->size() != 2) return {};
  return PartialShape{(*a)[n.option("transA", 0) ? 1 : 0], (*b)[n.option("transB", 0) ? 0 : 1]};
}

MaybeShape reshape(const NodeShapes& n) {
  if (n.node.version < 5 || n.option("allowzero", 0)) return {};
  const PartialShape* const to = n.numbers(1);
  const MaybeShape from = n.shape(0);
  if (!to) return {};
  PartialShape made = *to;
  std::size_t open = made.size();
  for (std::size_t d = 0; d < made.size(); ++d) {
    if (is(made[d], 0)) {
      if (!from || d >= from->size()) made[d] = {};
      else made[d] = (*from)[d];
    } else if (is(made[d], -1)) {
      open = d;
    }
  }
  if (open == made.size()) return made;
  made[open] = {};
  if (!from) return made;
  // Names that stand on both sides cancel. If numbers alone are left, the open size is known.
  PartialShape left = *from;
  std::int64_t above = 1, below = 1;
  for (std::size_t d = 0; d < made.size(); ++d) {
    if (d == open) continue;
    if (made[d].value) {
      if (__builtin_mul_overflow(below, *made[d].value, &below)) return made;
      continue;
    }
    const auto same =
        std::find_if(left.begin(), left.end(), [&](const Dim& dim) { return !dim.value && is_same(dim, made[d]); });
    if (same == left.end()) return made;
    left.erase(same);
  }
  std::optional<Dim> name;
  for (const Dim& dim : left) {
    if (dim.value) {
      if (__builtin_mul_overflow(above, *dim.value, &above)) return made;
    } else if (name) {
      return made;
    } else {
      name = dim;
    }
  }
  // A free size of 0 on both sides would leave the open one undecided; Reshape then makes it 0.
  if (below <= 0 || above % below) return made;
  if (!name) made[open] = known(above / below);
  else if (above == below) made[open] = *name;
  return made;
}

MaybeShape unsqueeze(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  const std::optional<Ints> axes = n.ints(1, "axes");
  const auto fresh = marked(axes, x && axes ? x->size() + axes->size() : 0);
  if (!x || !fresh) return {};
  PartialShape made;
  std::size_t from = 0;
  for (const bool is_fresh : *fresh) {
    if (!is_fresh && from == x->size()) return {};
    made.push_back(is_fresh ? known(1) : (*x)[from++]);
  }
  return made;
}

MaybeShape squeeze(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  const std::optional<Ints> axes = n.ints(1, "axes");
  const auto gone = marked(axes, x ? x->size() : 0);
  if (!x || !gone || axes->empty()) return {};
  PartialShape made;
  for (std::size_t d = 0; d < x->size(); ++d)
    if (!(*gone)[d]) made.push_back((*x)[d]);
  return made;
}

MaybeShape gather(const NodeShapes& n) {
  const MaybeShape x = n.shape(0), index = n.shape(1);
  if (!x || !index) return {};
  const auto axis = index_of_dim(n.option("axis", 0), x->size());
  if (!axis) return {};
  PartialShape made(x->begin(), x->begin() + static_cast<std::ptrdiff_t>(*axis));
  made.insert(made.end(), index->begin(), index->end());
  made.insert(made.end(), x->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x->end());
  return made;
}

MaybeShape concat(const NodeShapes& n) {
  MaybeShape all = n.shape(0);
  if (!all) return {};
  const auto axis = index_of_dim(n.option("axis", 1), all->size());
  if (!axis) return {};
  for (std::size_t i = 1; i < n.node.inputs.size(); ++i) {
    const MaybeShape next = n.shape(i);
    if (!next || next->size() != all->size()) return {};
    for (std::size_t d = 0; d < all->size(); ++d) {
      Dim& dim = (*all)[d];
      const Dim& other = (*next)[d];
      std::int64_t both = 0;
      const bool adds = dim.value && other.value && !__builtin_add_overflow(*dim.value, *other.value, &both);
      if (d == *axis) dim = adds ? known(both) : Dim{};
      else if (!dim.value && other.value) dim = other;
    }
  }
  return all;
}

// Batch, channels, and as many sizes that are not looked into.
MaybeShape conv(const NodeShapes& n) {
  const MaybeShape x = n.shape(0), weight = n.shape(1);
  if (!x || !weight || x->size() < 3 || weight->size() != x->size()) return {};
  PartialShape made(x->size());
  made[0] = (*x)[0];
  made[1] = (*weight)[0];
  return made;
}

MaybeShape shape(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  return PartialShape{x ? known(shape_range(n, x->size()).second) : Dim()};
}
MaybeShape size(const NodeShapes&) { return PartialShape(); }
MaybeShape range(const NodeShapes&) { return PartialShape(1); }

MaybeShape expand(const NodeShapes& n) { return n.numbers(1) ? broadcast(n.shape(0), *n.numbers(1)) : MaybeShape(); }

MaybeShape attention(const NodeShapes& n) {
  const MaybeShape q = n.shape(0), v = n.shape(2);
  if (!q || !v || q->size() != 4 || v->size() != 4) return {};
  return PartialShape{(*q)[0], (*q)[1], (*q)[2], (*v)[3]};
}

}  // namespace shape_rules

MaybeShape shape_of_result(const NodeShapes& n) {
  const OperatorTraits& traits = n.node.row->traits;
  if (traits.shape) return traits.shape(n);
  switch (traits.kind) {
    case OperatorKind::Elementwise:
    case OperatorKind::SameShape: return n.shape(0);
    case OperatorKind::Broadcasting: return broadcasted(n);
    case OperatorKind::Reduction: return reduced(n);
    case OperatorKind::GivenShape:
      return n.node.inputs.empty() || !n.numbers(n.node.inputs.size() - 1)
                 ? MaybeShape()
                 : MaybeShape(*n.numbers(n.node.inputs.size() - 1));
    default: return {};
  }
}

}  // namespace kiln::onnx
