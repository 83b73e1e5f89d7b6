// Numbers that are sizes: what Shape gives, and what is made of that.
#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"

namespace kiln::onnx {

const PartialShape* NodeShapes::numbers(std::size_t i) const {
  const auto found = shapes.numbers.find(in(i));
  return in(i) == kAbsent || found == shapes.numbers.end() ? nullptr : &found->second;
}
std::int64_t NodeShapes::option(std::string_view name, std::int64_t otherwise) const {
  return int_attribute(node, name, otherwise);
}
std::optional<Ints> NodeShapes::ints(std::size_t i, std::string_view attribute) const {
  if (const Attribute* const found = find_attribute(node, attribute)) return found->ints;
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

std::optional<std::size_t> index_of_dim(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return {};
  return static_cast<std::size_t>(axis);
}

std::pair<std::size_t, std::int64_t> shape_range(const NodeShapes& n,
                                                 std::size_t rank) {  // the first dimension, and how many
  const auto limit = [&](std::int64_t at) {
    const auto size = static_cast<std::int64_t>(rank);
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t from = limit(n.option("start", 0)), to = limit(n.option("end", static_cast<std::int64_t>(rank)));
  return {static_cast<std::size_t>(from), std::max<std::int64_t>(to - from, 0)};
}

namespace number_rules {

MaybeShape shape(const NodeShapes& n) {
  const MaybeShape x = n.shape(0);
  if (!x) return {};
  const auto [from, count] = shape_range(n, x->size());
  const auto first = x->begin() + static_cast<std::ptrdiff_t>(from);
  return PartialShape(first, first + count);
}

MaybeShape concat(const NodeShapes& n) {
  PartialShape all;
  for (std::size_t i = 0; i < n.node.inputs.size(); ++i) {
    const PartialShape* const part = n.numbers(i);
    if (!part || !n.shape(i) || n.shape(i)->size() != 1) return {};
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

MaybeShape same(const NodeShapes& n) {
  const PartialShape* const x = n.numbers(0);
  const MaybeShape made = n.result();
  return x && made && made->size() <= 1 ? MaybeShape(*x) : std::nullopt;
}

MaybeShape cast(const NodeShapes& n) {
  const PartialShape* const x = n.numbers(0);
  return x && n.option("to", 0) == static_cast<std::int64_t>(Element::Int64) ? MaybeShape(*x) : std::nullopt;
}

MaybeShape gather(const NodeShapes& n) {
  const PartialShape* const x = n.numbers(0);
  const std::optional<Ints> indices = n.ints(1, "");
  return x && indices && n.shape(0) && n.shape(0)->size() == 1 ? picked(*x, *indices) : MaybeShape();
}

MaybeShape slice(const NodeShapes& n) {
  const PartialShape* const x = n.numbers(0);
  const std::optional<Ints> starts = n.ints(1, "starts"), ends = n.ints(2, "ends"), steps = n.ints(4, "");
  if (!x || !starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
      !(steps->empty() || *steps == Ints{1}))
    return {};
  const auto size = static_cast<std::int64_t>(x->size());
  const auto limit = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t from = limit(starts->front()), to = limit(ends->front());
  return from < to ? PartialShape(x->begin() + from, x->begin() + to) : PartialShape();
}

}  // namespace number_rules

}  // namespace kiln::onnx
