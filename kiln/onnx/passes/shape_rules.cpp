#include "kiln/onnx/passes/shape_rules.hpp"

#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

bool is(const Dim& dim, std::int64_t size) { return dim.value && *dim.value == size; }
bool is_same(const Dim& a, const Dim& b) {
  return a.value ? a.value == b.value : !a.param.empty() && a.param == b.param;
}

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

// Operators whose result has the shape of their first operand.
// clang-format off
constexpr std::string_view kSame[] = {
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "BitwiseNot", "Cast", "CastLike",
    "Ceil", "Celu", "Clip", "Cos", "Cosh", "CumSum", "DequantizeLinear", "Dropout", "Elu", "Erf", "Exp",
    "FakeQuantize", "Floor", "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "Hardmax", "Identity",
    "InstanceNormalization", "IsInf", "IsNaN", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax",
    "LpNormalization", "Mish", "Neg", "Not", "QuantizeLinear", "RMSNormalization", "Reciprocal", "Relu", "Round",
    "ScatterElements", "ScatterND", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus",
    "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu"};
constexpr std::string_view kBroadcasting[] = {
    "Add", "And", "Atan2", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum",
    "Where", "Xor"};
// clang-format on

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

MaybeShape transposed(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  if (!x) return {};
  const Attribute* const given = find_attribute(n.node, "perm");
  if (!given) return PartialShape(x->rbegin(), x->rend());
  PartialShape made;
  for (const std::int64_t dim : given->ints) {
    const auto from = place_of(dim, x->size());
    if (!from) return {};
    made.push_back((*x)[*from]);
  }
  return made;
}

MaybeShape product(const NodeShapes& n) {
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

MaybeShape reshaped(const NodeShapes& n) {
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
  // What stands on both sides goes; if numbers are left alone, so is the open size known.
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

MaybeShape unsqueezed(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  const std::optional<Ints> axes = n.ints(1, "axes");
  if (!x || !axes) return {};
  PartialShape made(x->size() + axes->size());
  std::vector<bool> fresh(made.size());
  for (const std::int64_t axis : *axes) {
    const auto to = place_of(axis, made.size());
    if (!to) return {};
    fresh[*to] = true;
  }
  std::size_t from = 0;
  for (std::size_t d = 0; d < made.size(); ++d) {
    if (!fresh[d] && from == x->size()) return {};
    made[d] = fresh[d] ? known(1) : (*x)[from++];
  }
  return made;
}

MaybeShape squeezed(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  const std::optional<Ints> axes = n.ints(1, "axes");
  if (!x || !axes || axes->empty()) return {};
  std::vector<bool> gone(x->size());
  for (const std::int64_t axis : *axes) {
    const auto from = place_of(axis, x->size());
    if (!from) return {};
    gone[*from] = true;
  }
  PartialShape made;
  for (std::size_t d = 0; d < x->size(); ++d)
    if (!gone[d]) made.push_back((*x)[d]);
  return made;
}

MaybeShape gathered(const NodeShapes& n) {
  const MaybeShape x = n.shape(0), index = n.shape(1);
  if (!x || !index) return {};
  const auto axis = place_of(n.option("axis", 0), x->size());
  if (!axis) return {};
  PartialShape made(x->begin(), x->begin() + static_cast<std::ptrdiff_t>(*axis));
  made.insert(made.end(), index->begin(), index->end());
  made.insert(made.end(), x->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x->end());
  return made;
}

MaybeShape joined(const NodeShapes& n) {
  MaybeShape all = n.shape(0);
  if (!all) return {};
  const auto axis = place_of(n.option("axis", 1), all->size());
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

MaybeShape reduced(const NodeShapes& n) {
  MaybeShape x = n.shape(0);
  const std::optional<Ints> axes = n.ints(1, "axes");
  if (!x || !axes || axes->empty() || n.option("keepdims", 1) != 1) return {};
  for (const std::int64_t axis : *axes) {
    const auto at = place_of(axis, x->size());
    if (!at) return {};
    (*x)[*at] = known(1);
  }
  return x;
}

// Batch, channels, and as many sizes that are not looked into.
MaybeShape convolved(const NodeShapes& n) {
  const MaybeShape x = n.shape(0), weight = n.shape(1);
  if (!x || !weight || x->size() < 3 || weight->size() != x->size()) return {};
  PartialShape made(x->size());
  made[0] = (*x)[0];
  made[1] = (*weight)[0];
  return made;
}

}  // namespace

MaybeShape shape_of_result(const NodeShapes& n) {
  const std::string& op = n.node.op;
  if (among(kSame, op)) return n.shape(0);
  if (among(kBroadcasting, op)) {
    if (n.node.version < 7) return {};
    MaybeShape all = n.shape(0);
    for (std::size_t i = 1; i < n.node.inputs.size(); ++i) all = broadcast(all, n.shape(i));
    return all;
  }
  if (op == "Shape")
    return n.shape(0) ? MaybeShape(PartialShape{known(shape_range(n, n.shape(0)->size()).second)})
                      : MaybeShape(PartialShape{{}});
  if (op == "Size") return PartialShape{};
  if (op == "Range") return PartialShape(1);
  if (op == "Transpose") return transposed(n);
  if (op == "MatMul") return product(n);
  if (op == "Gemm") return gemm(n);
  if (op == "Reshape") return reshaped(n);
  if (op == "Unsqueeze" || op == "Squeeze") return op == "Squeeze" ? squeezed(n) : unsqueezed(n);
  if (op == "Gather") return gathered(n);
  if (op == "Concat") return joined(n);
  if (op == "Expand") return n.numbers(1) ? broadcast(n.shape(0), *n.numbers(1)) : MaybeShape();
  if (op == "ConstantOfShape") return n.numbers(0) ? MaybeShape(*n.numbers(0)) : MaybeShape();
  if (op.starts_with("Reduce")) return reduced(n);
  if (op == "Attention")
    return n.in(0) != kAbsent && n.shape(0) && n.shape(2) && n.shape(0)->size() == 4 && n.shape(2)->size() == 4
               ? MaybeShape(PartialShape{(*n.shape(0))[0], (*n.shape(0))[1], (*n.shape(0))[2], (*n.shape(2))[3]})
               : MaybeShape();
  if (op == "Conv") return convolved(n);
  return {};
}

}  // namespace kiln::onnx
