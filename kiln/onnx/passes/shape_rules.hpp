// Rules for the shape of a node's result.
#pragma once
#include "kiln/onnx/call.hpp"
#include "kiln/onnx/passes/shapes.hpp"

namespace kiln::onnx {

using MaybeShape = std::optional<PartialShape>;

/// A node and what is known of its operands: the argument of all rules.
struct NodeShapes {
  const Node& node;
  const Shapes& shapes;

  int in(std::size_t i) const { return i < node.inputs.size() ? node.inputs[i] : kAbsent; }
  int out() const { return node.outputs.empty() ? kAbsent : node.outputs[0]; }
  MaybeShape shape(std::size_t i) const { return shapes[in(i)]; }
  /// The shape of the first result, as far as it is known already.
  MaybeShape result() const { return shapes[out()]; }
  /// The elements of an integer tensor; null where they are not known.
  const PartialShape* numbers(std::size_t i) const;
  std::int64_t option(std::string_view name, std::int64_t otherwise) const;
  /// Numbers of an input, or of the attribute that it was before; nothing where they are not known.
  std::optional<Ints> ints(std::size_t i, std::string_view attribute) const;
};

/// The shape of the first result, by the rule of the node's row or of its kind. Nothing where neither says it, or where
/// too little is known of the operands.
MaybeShape shape_of_result(const NodeShapes& node);

/// Rules for rows (OperatorTraits::shape) that kinds do not have.
namespace shape_rules {
MaybeShape attention(const NodeShapes& node);
MaybeShape concat(const NodeShapes& node);
MaybeShape conv(const NodeShapes& node);  // batch and channels alone
MaybeShape expand(const NodeShapes& node);
MaybeShape gather(const NodeShapes& node);
MaybeShape gemm(const NodeShapes& node);
MaybeShape matmul(const NodeShapes& node);
MaybeShape range(const NodeShapes& node);
MaybeShape reshape(const NodeShapes& node);
MaybeShape shape(const NodeShapes& node);
MaybeShape size(const NodeShapes& node);
MaybeShape squeeze(const NodeShapes& node);
MaybeShape transpose(const NodeShapes& node);
MaybeShape unsqueeze(const NodeShapes& node);
}  // namespace shape_rules

/// Rules for rows (OperatorTraits::numbers): the elements of a result that is a shape, or part of one.
namespace number_rules {
MaybeShape cast(const NodeShapes& node);
MaybeShape concat(const NodeShapes& node);
MaybeShape gather(const NodeShapes& node);
MaybeShape same(const NodeShapes& node);  // the operand's, in a shape of at most one dimension
MaybeShape shape(const NodeShapes& node);
MaybeShape slice(const NodeShapes& node);
}  // namespace number_rules

inline Dim known(std::int64_t size) { return {size, {}}; }
/// The index of a dimension that is counted from the end where it is negative; nothing where there is none.
std::optional<std::size_t> index_of_dim(std::int64_t axis, std::size_t rank);
/// The dimensions of these numbers, as index_of_dim() has them; nothing where x does not have them.
MaybeShape picked(const PartialShape& x, const Ints& dims);
/// The dimensions that a Shape node gives: the first, and how many.
std::pair<std::size_t, std::int64_t> shape_range(const NodeShapes& node, std::size_t rank);

}  // namespace kiln::onnx
