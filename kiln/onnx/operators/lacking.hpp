// Options of nodes that an operator of the table does not have: a file is refused when it is loaded (OperatorTraits::lacks).
#pragma once
#include "kiln/onnx/graph.hpp"

namespace kiln::onnx {

/// The first of `attributes` that is a number other than 0, or of `inputs` that is there, as "input 6"; empty for none.
inline std::string lacking(const Node& node, std::initializer_list<std::string_view> attributes,
                           std::initializer_list<std::size_t> inputs = {}) {
  for (const std::string_view name : attributes) {
    const Attribute* const found = find_attribute(node, name);
    if (found && (found->i != 0 || found->f != 0)) return std::string(name);
  }
  for (const std::size_t input : inputs)
    if (input < node.inputs.size() && node.inputs[input] != kAbsent) return text("input ", input);
  return {};
}

}  // namespace kiln::onnx
