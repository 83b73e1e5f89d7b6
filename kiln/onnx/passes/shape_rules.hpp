// What a node's operator says of the shape of its result.
#pragma once
#include "kiln/onnx/call.hpp"
#include "kiln/onnx/passes/shapes.hpp"

namespace kiln::onnx {

using MaybeShape = std::optional<PartialShape>;

/// One node and what is known of its operands; what rules are functions of.
struct NodeShapes {
  const Node& node;
  const Shapes& shapes;

  int in(std::size_t i) const { return i < node.inputs.size() ? node.inputs[i] : kAbsent; }
  int out() const { return node.outputs.empty() ? kAbsent : node.outputs[0]; }
  MaybeShape shape(std::size_t i) const { return shapes[in(i)]; }
  /// As far as it is known already.
  MaybeShape result() const { return shapes[out()]; }
  /// The elements of an integer tensor; null where they are not known.
  const PartialShape* numbers(std::size_t i) const;
  std::int64_t option(std::string_view name, std::int64_t otherwise) const;
  /// Numbers of an input, or of the attribute that it was before; nothing where they are not known.
  std::optional<Ints> ints(std::size_t i, std::string_view attribute) const;
};

/// Of the first result. Nothing where there is no rule, or it needs to know more.
MaybeShape shape_of_result(const NodeShapes& node);
/// The elements of a result that is a shape, or part of one.
MaybeShape numbers_of_result(const NodeShapes& node);

inline Dim known(std::int64_t size) { return {size, {}}; }
/// Of a dimension, counted from the end where negative; nothing where there is none.
std::optional<std::size_t> place_of(std::int64_t axis, std::size_t rank);
/// Which dimensions a Shape shows: the first, and how many.
std::pair<std::size_t, std::int64_t> shape_range(const NodeShapes& node, std::size_t rank);

}  // namespace kiln::onnx
