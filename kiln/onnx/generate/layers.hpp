// Helpers of the rows of modules (layers.cpp).
#pragma once
#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {

/// A constant float32 tensor of this rank (-1: any); empty for others.
inline Value weight(const Site& n, std::size_t i, int rank) {
  const Datum* const found = n.constant(i);
  if (!found || found->value().dtype() != DType::F32 || (rank >= 0 && found->value().rank() != rank)) return {};
  return found->value();
}

inline Option number(std::string name, std::int64_t value, std::string usual = "") {
  return {std::move(name), "std::int64_t", text(value), std::move(usual)};
}
inline Option sizes(std::string name, const Ints& list, std::int64_t usual) {
  return {std::move(name), "Spatial", braces(list), braces(Ints(list.size(), usual))};
}
inline Option real(std::string name, double value, double usual) {
  return {std::move(name), "double", literal(value), literal(usual)};
}
inline Option flag(std::string name, bool value, bool usual) {
  return {std::move(name), "bool", value ? "true" : "false", usual ? "true" : "false"};
}

/// A call of the layer's forward(), on the first input where no operands are given.
inline Statement call(const Site& n, Layer layer, std::size_t weight_input, std::string_view name,
                      Code::List operands = {}) {
  const int number = n.lowering.add_layer(std::move(layer), n.node, n.node.inputs[weight_input], name);
  if (operands.empty()) operands = {n.in(0)};
  return {.code = Code::method(Code::layer(number), "forward", std::move(operands))};
}

/// The module of an LSTM or a GRU.
MaybeStatement recurrent_layer(const Site& n);

}  // namespace kiln::onnx::cpp
