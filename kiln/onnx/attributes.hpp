// The type of each attribute of the operators, and the integers that it may be. A file with others is refused when it is
// loaded.
#pragma once
#include "kiln/onnx/graph.hpp"

namespace kiln::onnx {

/// A sentence about an attribute of the node that has another type than the operator's, or is an integer out of the range
/// of sizes, indices and counts; empty where there is none. Attributes that no operator of the table has are ignored.
std::string wrong_attribute(const Node& node);

/// The attributes that are an integer or a list of integers, whatever operator has them.
std::vector<std::pair<std::string, AttributeProto::Type>> integer_attributes();

/// "an integer", as sentences have it.
std::string type_name(AttributeProto::Type type);

}  // namespace kiln::onnx
