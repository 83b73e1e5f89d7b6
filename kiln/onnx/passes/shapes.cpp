#include "kiln/onnx/passes/shapes.hpp"

#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostNumbers = 64;

bool is(const Dim& dim, std::int64_t size) { return dim.value && *dim.value == size; }
bool is_same(const Dim& a, const Dim& b) {
  return a.value ? a.value == b.value : !a.param.empty() && a.param == b.param;
}
Dim known(std::int64_t size) { return {size, {}}; }

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
constexpr std::string_view kSame[] = {"Abs",
                                      "Acos",
                                      "Acosh",
                                      "Asin",
                                      "Asinh",
                                      "Atan",
                                      "Atanh",
                                      "BatchNormalization",
                                      "BitwiseNot",
                                      "Cast",
                                      "CastLike",
                                      "Ceil",
                                      "Celu",
                                      "Clip",
                                      "Cos",
                                      "Cosh",
                                      "CumSum",
                                      "DequantizeLinear",
                                      "Dropout",
                                      "Elu",
                                      "Erf",
                                      "Exp",
                                      "Floor",
                                      "Gelu",
                                      "GroupNormalization",
                                      "HardSigmoid",
                                      "HardSwish",
                                      "Hardmax",
                                      "Identity",
                                      "InstanceNormalization",
                                      "IsInf",
                                      "IsNaN",
                                      "LayerNormalization",
                                      "LeakyRelu",
                                      "Log",
                                      "LogSoftmax",
                                      "LpNormalization",
                                      "Mish",
                                      "Neg",
                                      "Not",
                                      "QuantizeLinear",
                                      "RMSNormalization",
                                      "Reciprocal",
                                      "Relu",
                                      "Round",
                                      "ScatterElements",
                                      "ScatterND",
                                      "Selu",
                                      "Shrink",
                                      "Sigmoid",
                                      "Sign",
                                      "Sin",
                                      "Sinh",
                                      "Softmax",
                                      "Softplus",
                                      "Softsign",
                                      "Sqrt",
                                      "Swish",
                                      "Tan",
                                      "Tanh",
                                      "ThresholdedRelu",
                                      "Trilu"};
constexpr std::string_view kBroadcasting[] = {"Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
                                              "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
                                              "Less",       "LessOrEqual", "Max",      "Mean",       "Min",
                                              "Mod",        "Mul",         "Or",       "PRelu",      "Pow",
                                              "Sub",        "Sum",         "Where",    "Xor"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

class Inference {
 public:
  explicit Inference(const Graph& graph) : graph_(graph) { shapes_.of.resize(graph.values.size()); }

  Shapes infer() {
    for (const int input : graph_.inputs) declare(input);
    for (const int input : graph_.replaceable) declare(input);
    for (const auto& [value, constant] : graph_.constants)
      if (constant_of(graph_, value)) add_constant(value, constant);
    for (const Node& node : graph_.nodes) {
      if (!node.row || !node.domain.empty() || has_subgraphs(node)) continue;
      node_ = &node;
      if (std::optional<PartialShape> shape = shape_of_result(); shape && out() != kAbsent)
        at(out()) = std::move(shape);
      if (std::optional<PartialShape> numbers = numbers_of_result();
          numbers && out() != kAbsent && numbers->size() <= kMostNumbers)
        shapes_.numbers[out()] = std::move(*numbers);
    }
    return std::move(shapes_);
  }

 private:
  using MaybeShape = std::optional<PartialShape>;

  void declare(int value) {
    const TypeProto& type = graph_.values[static_cast<std::size_t>(value)].type;
    if (type.kind != TypeProto::Kind::Tensor || !type.shape) return;
    PartialShape shape = *type.shape;
    for (Dim& dim : shape)
      if (dim.value && *dim.value <= 0) dim = {};  // run() takes any size for those
    at(value) = std::move(shape);
  }

  void add_constant(int value, const Datum& constant) {
    if (!constant.is_tensor()) return;
    PartialShape shape;
    for (const std::int64_t size : constant.value().shape()) shape.push_back(known(size));
    at(value) = shape;
    const Value& tensor = constant.value();
    if (tensor.dtype() != DType::I64 || constant.is_string() || tensor.rank() > 1 || tensor.numel() > kMostNumbers)
      return;
    PartialShape& numbers = shapes_.numbers[value];
    for (const std::int64_t number : tensor.data().to_vector<std::int64_t>()) numbers.push_back(known(number));
  }

  // ---- the node at hand -------------------------------------------------------------------------------------------
  MaybeShape& at(int value) { return shapes_.of[static_cast<std::size_t>(value)]; }
  int out() const { return node_->outputs.empty() ? kAbsent : node_->outputs[0]; }
  int in(std::size_t i) const { return i < node_->inputs.size() ? node_->inputs[i] : kAbsent; }
  MaybeShape shape(std::size_t i) { return in(i) == kAbsent ? MaybeShape() : at(in(i)); }
  const PartialShape* numbers(std::size_t i) const {
    const auto found = shapes_.numbers.find(in(i));
    return in(i) == kAbsent || found == shapes_.numbers.end() ? nullptr : &found->second;
  }
  std::int64_t option(std::string_view name, std::int64_t otherwise) const {
    return int_attribute(*node_, name, otherwise);
  }
  /// Numbers of an input, or of the attribute that it was before; nothing where they are not known.
  std::optional<Ints> ints(std::size_t i, std::string_view attribute) const {
    if (const Attribute* const found = find_attribute(*node_, attribute)) return found->ints;
    if (in(i) == kAbsent) return Ints();
    const PartialShape* const list = numbers(i);
    if (!list) return {};
    Ints made;
    for (const Dim& dim : *list) {
      if (!dim.value) return {};
      made.push_back(*dim.value);
    }
    return made;
  }
  static std::optional<std::size_t> place(std::int64_t axis, std::size_t rank) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return {};
    return static_cast<std::size_t>(axis);
  }

  MaybeShape shape_of_result() {
    const std::string& op = node_->op;
    if (among(kSame, op)) return shape(0);
    if (among(kBroadcasting, op)) {
      if (node_->version < 7) return {};
      MaybeShape all = shape(0);
      for (std::size_t i = 1; i < node_->inputs.size(); ++i) all = broadcast(all, shape(i));
      return all;
    }
    if (op == "Shape")
      return shape(0) ? MaybeShape(PartialShape{known(shape_range(shape(0)->size()).second)})
                      : MaybeShape(PartialShape{{}});
    if (op == "Size") return PartialShape{};
    if (op == "Transpose") return transposed();
    if (op == "MatMul") return product();
    if (op == "Gemm") return gemm();
    if (op == "Reshape") return reshaped();
    if (op == "Unsqueeze" || op == "Squeeze") return op == "Squeeze" ? squeezed() : unsqueezed();
    if (op == "Gather") return gathered();
    if (op == "Concat") return joined();
    if (op == "Expand") return numbers(1) ? broadcast(shape(0), *numbers(1)) : MaybeShape();
    if (op == "ConstantOfShape") return numbers(0) ? MaybeShape(*numbers(0)) : MaybeShape();
    if (op.starts_with("Reduce")) return reduced();
    if (op == "Attention")
      return in(0) != kAbsent && shape(0) && shape(2) && shape(0)->size() == 4 && shape(2)->size() == 4
                 ? MaybeShape(PartialShape{(*shape(0))[0], (*shape(0))[1], (*shape(0))[2], (*shape(2))[3]})
                 : MaybeShape();
    if (op == "Conv") return convolved();
    return {};
  }

  MaybeShape transposed() {
    const MaybeShape x = shape(0);
    if (!x) return {};
    const Attribute* const given = find_attribute(*node_, "perm");
    if (!given) return PartialShape(x->rbegin(), x->rend());
    PartialShape made;
    for (const std::int64_t dim : given->ints) {
      const auto from = place(dim, x->size());
      if (!from) return {};
      made.push_back((*x)[*from]);
    }
    return made;
  }

  MaybeShape product() {
    MaybeShape a = shape(0), b = shape(1);
    if (!a || !b || a->size() < 2 || b->size() < 2) return {};
    const Dim rows = (*a)[a->size() - 2], columns = b->back();
    a->resize(a->size() - 2), b->resize(b->size() - 2);
    MaybeShape made = broadcast(a, b);
    made->push_back(rows);
    made->push_back(columns);
    return made;
  }

  MaybeShape gemm() {
    const MaybeShape a = shape(0), b = shape(1);
    if (!a || !b || a->size() != 2 || b->size() != 2) return {};
    return PartialShape{(*a)[option("transA", 0) ? 1 : 0], (*b)[option("transB", 0) ? 0 : 1]};
  }

  MaybeShape reshaped() {
    if (node_->version < 5 || option("allowzero", 0)) return {};
    const PartialShape* const to = numbers(1);
    const MaybeShape from = shape(0);
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

  MaybeShape unsqueezed() {
    const MaybeShape x = shape(0);
    const std::optional<Ints> axes = ints(1, "axes");
    if (!x || !axes) return {};
    PartialShape made(x->size() + axes->size());
    std::vector<bool> fresh(made.size());
    for (const std::int64_t axis : *axes) {
      const auto to = place(axis, made.size());
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

  MaybeShape squeezed() {
    const MaybeShape x = shape(0);
    const std::optional<Ints> axes = ints(1, "axes");
    if (!x || !axes || axes->empty()) return {};
    std::vector<bool> gone(x->size());
    for (const std::int64_t axis : *axes) {
      const auto from = place(axis, x->size());
      if (!from) return {};
      gone[*from] = true;
    }
    PartialShape made;
    for (std::size_t d = 0; d < x->size(); ++d)
      if (!gone[d]) made.push_back((*x)[d]);
    return made;
  }

  MaybeShape gathered() {
    const MaybeShape x = shape(0), index = shape(1);
    if (!x || !index) return {};
    const auto axis = place(option("axis", 0), x->size());
    if (!axis) return {};
    PartialShape made(x->begin(), x->begin() + static_cast<std::ptrdiff_t>(*axis));
    made.insert(made.end(), index->begin(), index->end());
    made.insert(made.end(), x->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x->end());
    return made;
  }

  MaybeShape joined() {
    MaybeShape all = shape(0);
    if (!all) return {};
    const auto axis = place(option("axis", 1), all->size());
    if (!axis) return {};
    for (std::size_t i = 1; i < node_->inputs.size(); ++i) {
      const MaybeShape next = shape(i);
      if (!next || next->size() != all->size()) return {};
      for (std::size_t d = 0; d < all->size(); ++d) {
        Dim& dim = (*all)[d];
        const Dim& other = (*next)[d];
        if (d == *axis) dim = dim.value && other.value ? known(*dim.value + *other.value) : Dim{};
        else if (!dim.value && other.value) dim = other;
      }
    }
    return all;
  }

  MaybeShape reduced() {
    MaybeShape x = shape(0);
    const std::optional<Ints> axes = ints(1, "axes");
    if (!x || !axes || axes->empty() || option("keepdims", 1) != 1) return {};
    for (const std::int64_t axis : *axes) {
      const auto at = place(axis, x->size());
      if (!at) return {};
      (*x)[*at] = known(1);
    }
    return x;
  }

  // Batch, channels, and as many sizes that are not looked into.
  MaybeShape convolved() {
    const MaybeShape x = shape(0), weight = shape(1);
    if (!x || !weight || x->size() < 3 || weight->size() != x->size()) return {};
    PartialShape made(x->size());
    made[0] = (*x)[0];
    made[1] = (*weight)[0];
    return made;
  }

  // ---- numbers ----------------------------------------------------------------------------------------------------
  std::pair<std::size_t, std::int64_t> shape_range(std::size_t rank) const {  // the first dimension, and how many
    const auto limit = [&](std::int64_t at) {
      const auto size = static_cast<std::int64_t>(rank);
      return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
    };
    const std::int64_t from = limit(option("start", 0)), to = limit(option("end", static_cast<std::int64_t>(rank)));
    return {static_cast<std::size_t>(from), std::max<std::int64_t>(to - from, 0)};
  }

  std::optional<PartialShape> numbers_of_result() {
    const std::string& op = node_->op;
    if (op == "Shape") {
      const MaybeShape x = shape(0);
      if (!x) return {};
      const auto [from, count] = shape_range(x->size());
      const auto first = x->begin() + static_cast<std::ptrdiff_t>(from);
      return PartialShape(first, first + count);
    }
    if (op == "Concat") {
      PartialShape all;
      for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        const PartialShape* const part = numbers(i);
        if (!part || !shape(i) || shape(i)->size() != 1) return {};
        all.insert(all.end(), part->begin(), part->end());
      }
      return all;
    }
    const PartialShape* const x = numbers(0);
    if (!x) return {};
    if (op == "Unsqueeze" || op == "Squeeze" || op == "Identity" || op == "Reshape") {
      const MaybeShape& made = at(out());
      return made && made->size() <= 1 ? std::optional(*x) : std::nullopt;
    }
    if (op == "Cast")
      return option("to", 0) == static_cast<std::int64_t>(Element::Int64) ? std::optional(*x) : std::nullopt;
    if (op == "Gather") {
      const std::optional<Ints> places = ints(1, "");
      if (!places || !shape(0) || shape(0)->size() != 1) return {};
      PartialShape made;
      for (const std::int64_t index : *places) {
        const auto from = place(index, x->size());
        if (!from) return {};
        made.push_back((*x)[*from]);
      }
      return made;
    }
    if (op == "Slice") return sliced(*x);
    return {};
  }

  std::optional<PartialShape> sliced(const PartialShape& x) {
    const std::optional<Ints> starts = ints(1, "starts"), ends = ints(2, "ends"), steps = ints(4, "");
    if (!starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
        !(steps->empty() || *steps == Ints{1}))
      return {};
    const auto size = static_cast<std::int64_t>(x.size());
    const auto limit = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    const std::int64_t from = limit(starts->front()), to = limit(ends->front());
    PartialShape made = from < to ? PartialShape(x.begin() + from, x.begin() + to) : PartialShape();
    at(out()) = PartialShape{known(static_cast<std::int64_t>(made.size()))};
    return made;
  }

  const Graph& graph_;
  const Node* node_ = nullptr;
  Shapes shapes_;
};

}  // namespace

const std::optional<PartialShape>& Shapes::operator[](int value) const {
  static const std::optional<PartialShape> kNothing;
  return value == kAbsent ? kNothing : of[static_cast<std::size_t>(value)];
}

Shapes infer_shapes(const Graph& graph) { return Inference(graph).infer(); }

}  // namespace kiln::onnx
