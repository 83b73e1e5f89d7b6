// Which type each attribute of the operators has, and which integers it may be, so that others are found when a file is
// loaded.
#pragma once
#include "kiln/onnx/graph.hpp"

namespace kiln::onnx {

/// What is wrong with an attribute of the node, as a sentence; empty where nothing is: it is of another type than the
/// operator's, or an integer that is no size, no place and no count, which is said once for all operators. What no operator
/// of the table has is left alone.
std::string wrong_attribute(const Node& node);

/// The attributes that are an integer or a list of integers, whatever operator has them.
std::vector<std::pair<std::string, AttributeProto::Type>> integer_attributes();

/// "an integer", as sentences have it.
std::string type_name(AttributeProto::Type type);

}  // namespace kiln::onnx
