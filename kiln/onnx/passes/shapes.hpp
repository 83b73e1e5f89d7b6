// Shape inference: what is known of the shapes of a graph's values, and of the numbers in those that are shapes
// themselves, whatever the free sizes are.
#pragma once
#include <map>
#include <optional>

#include "kiln/onnx/graph.hpp"

namespace kiln::onnx {

/// A size: a number, or that of a name, or (neither) some number.
using Dim = DimProto;
using PartialShape = std::vector<Dim>;
/// They are known to be the same size.
inline bool is_same(const Dim& a, const Dim& b) {
  return a.value ? a.value == b.value : !a.param.empty() && a.param == b.param;
}

struct Shapes {
  std::vector<std::optional<PartialShape>> of;  // by value; nothing where not even the rank is known
  std::map<int, PartialShape> numbers;          // the elements of integer tensors of at most one dimension

  const std::optional<PartialShape>& operator[](int value) const;
};

/// True of every run that Model::run lets through: of inputs what they declare, which it checks (but not of
/// sub-graphs); of constants what they are; and of what nodes make by the operators' rules. What the file says of other values is not believed.
Shapes infer_shapes(const Graph& graph);

}  // namespace kiln::onnx
