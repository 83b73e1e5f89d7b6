#include "kiln/onnx/passes/rewrite.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/onnx/table.hpp"

namespace kiln::onnx {

bool has_subgraphs(const Node& node) {
  bool has = node.function != nullptr;
  each_graph(node, [&](const auto&) { has = true; });
  return has;
}

const Datum* constant_of(const Graph& graph, int value) {
  const auto found = graph.constants.find(value);
  const bool replaceable = std::count(graph.replaceable.begin(), graph.replaceable.end(), value) != 0;
  return found == graph.constants.end() || replaceable ? nullptr : &found->second;
}

void replace_reads(Graph& graph, int from, int to) {
  for (Node& node : graph.nodes)
    for (int& input : node.inputs)
      if (input == from) input = to;
}

bool is_captured(const Graph& graph, int value) {
  bool found = false;
  for (const Node& node : graph.nodes)
    each_capture(node, [&](const Graph::Capture& capture) { found = found || capture.outer == value; });
  return found;
}

bool is_output(const Graph& graph, int value) {
  return std::count(graph.outputs.begin(), graph.outputs.end(), value) != 0;
}

Patterns::Patterns(Graph& graph) : graph_(graph), makers_(graph.values.size(), -1), readers_(graph.values.size()) {
  const auto read = [&](int value) {
    if (value != kAbsent) ++readers_[static_cast<std::size_t>(value)];
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int input : graph.nodes[n].inputs) read(input);
    for (const int output : graph.nodes[n].outputs)
      if (output != kAbsent) makers_[static_cast<std::size_t>(output)] = static_cast<int>(n);
    each_capture(graph.nodes[n], [&](const Graph::Capture& capture) { read(capture.outer), read(capture.outer); });
  }
  for (const int output : graph.outputs) read(output), read(output);
}

Node* Patterns::maker(int value, std::string_view op) {
  const int made = value == kAbsent ? -1 : makers_[static_cast<std::size_t>(value)];
  if (made < 0) return nullptr;
  Node& node = graph_.nodes[static_cast<std::size_t>(made)];
  return node.row && node.domain.empty() && node.op == op && node.outputs.front() == value ? &node : nullptr;
}
Node* Patterns::inner(int value, std::string_view op) {
  Node* const found = maker(value, op);
  return found && readers(value) == 1 ? found : nullptr;
}

std::optional<double> Patterns::number(int value) const {
  const Datum* const constant = value == kAbsent ? nullptr : constant_of(graph_, value);
  if (!constant || !constant->is_tensor() || constant->is_string() || constant->value().numel() != 1) return {};
  return constant->value().data().at(0);
}
bool Patterns::is_number(int value, double expected) const {
  const std::optional<double> found = number(value);
  return found && std::abs(*found - expected) <= 1e-3 * std::abs(expected);
}

int Patterns::other(const Node& node, int operand) {
  if (node.inputs.size() != 2) return kAbsent;
  return node.inputs[0] == operand ? node.inputs[1] : node.inputs[1] == operand ? node.inputs[0] : kAbsent;
}

bool Patterns::over_last(const Node& reduction) const {
  if (int_attribute(reduction, "keepdims", 1) != 1) return false;
  if (const Attribute* const axes = find_attribute(reduction, "axes")) return axes->ints == Ints{-1};
  return reduction.inputs.size() == 2 && number(reduction.inputs[1]) == -1.0;
}

void Patterns::become(Node& node, std::string_view op, std::vector<int> inputs, Attributes attributes) {
  node.op = op;
  node.version = kNewestOpset;
  node.row = find_row("", op, node.version);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
}

}  // namespace kiln::onnx
