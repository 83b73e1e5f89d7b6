// Which type each attribute of the operators has, so that one of another type is found when a file is loaded.
#pragma once
#include "kiln/onnx/graph.hpp"

namespace kiln::onnx {

/// Throws LoadError, which names `file` and the node, where an attribute is of another type than the operator's. What no
/// operator of the table has is left alone.
void check_attributes(const Node& node, const std::string& file);

/// "an integer", as sentences have it.
std::string type_name(AttributeProto::Type type);

}  // namespace kiln::onnx
