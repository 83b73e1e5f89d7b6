// Operators that are made of those of ai.onnx.
#pragma once
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

/// The results of `op` of ai.onnx, as `version` has it, for other inputs, with this node's attributes.
inline std::vector<Datum> standard_results(const Call& c, std::string_view op, int version, std::vector<Datum> inputs,
                                           Attributes more = {}) {
  Node node = c.node;
  node.version = version;
  node.row = find_row("", op, version);
  for (auto& [name, attribute] : more) node.attributes[name] = std::move(attribute);
  Call call{node, c.graph, c.frame, c.context, std::move(inputs)};
  return node.row->run(call).list;
}
/// The first result.
inline Datum standard(const Call& c, std::string_view op, int version, std::vector<Datum> inputs,
                      Attributes more = {}) {
  return standard_results(c, op, version, std::move(inputs), std::move(more)).at(0);
}

}  // namespace kiln::onnx
