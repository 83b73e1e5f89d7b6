// The gates of recurrent layers: the order of their rows in a weight, and their functions, in ONNX and in Kiln.
#pragma once
#include "kiln/onnx/call.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {

/// The rows of the gates, along dimension `dim`, in another order.
inline Value with_gates(const Value& rows, std::initializer_list<std::int64_t> order, int dim) {
  const std::int64_t hidden = rows.dim(dim) / static_cast<std::int64_t>(order.size());
  Values parts;
  for (const std::int64_t gate : order) parts.push_back(narrow(rows, dim, gate * hidden, hidden));
  return cat(parts, dim);
}
/// ONNX's i, o, f, g of an LSTM as Kiln's i, f, g, o; z, r, n of a GRU as r, z, n.
inline Value in_kiln_order(const Value& rows, std::int64_t gates, int dim = 0) {
  return gates == 4 ? with_gates(rows, {0, 2, 3, 1}, dim) : gates == 3 ? with_gates(rows, {1, 0, 2}, dim) : rows;
}
inline Value in_onnx_order(const Value& rows, std::int64_t gates, int dim = 0) {
  return gates == 4 ? with_gates(rows, {0, 3, 1, 2}, dim) : in_kiln_order(rows, gates, dim);
}

/// ONNX's name of a gate's function; empty where it has none that is the same.
inline std::string_view name_of(GateActivation f) {
  switch (f) {
    case GateActivation::Sigmoid: return "Sigmoid";
    case GateActivation::Tanh: return "Tanh";
    case GateActivation::Relu: return "Relu";
    case GateActivation::Softsign: return "Softsign";
    default: return {};
  }
}

}  // namespace kiln::onnx
