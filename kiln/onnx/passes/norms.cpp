#include <cmath>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

// x of mean(x^2) over the last dimension; kAbsent where it is none.
int mean_square(Patterns& patterns, int value) {
  const Node* const mean = patterns.inner(value, "ReduceMean");
  if (!mean || !patterns.over_last(*mean)) return kAbsent;
  if (const Node* const power = patterns.inner(mean->inputs[0], "Pow"))
    return power->inputs.size() == 2 && patterns.number(power->inputs[1]) == 2.0 ? power->inputs[0] : kAbsent;
  const Node* const product = patterns.inner(mean->inputs[0], "Mul");
  return product && product->inputs.size() == 2 && product->inputs[0] == product->inputs[1] ? product->inputs[0]
                                                                                            : kAbsent;
}

// sqrt(mean(x^2) + epsilon)
struct Deviation {
  int x = kAbsent;
  double epsilon = 0;
};
Deviation deviation(Patterns& patterns, int value) {
  const Node* const root = patterns.inner(value, "Sqrt");
  const Node* const sum = root ? patterns.inner(root->inputs[0], "Add") : nullptr;
  if (!sum || sum->inputs.size() != 2) return {};
  for (const int epsilon : sum->inputs)
    if (const auto number = patterns.number(epsilon); number && *number > 0 && *number < 0.1)
      return {mean_square(patterns, Patterns::other(*sum, epsilon)), *number};
  return {};
}

// y and what it is divided by, where `value` is y / sqrt(mean(x^2) + epsilon), as a quotient or a product.
struct Quotient {
  int y = kAbsent;
  Deviation by;
};
Quotient quotient(Patterns& patterns, int value) {
  if (const Node* const div = patterns.inner(value, "Div"))
    return div->inputs.size() == 2 ? Quotient{div->inputs[0], deviation(patterns, div->inputs[1])} : Quotient{};
  const Node* const product = patterns.inner(value, "Mul");
  if (!product || product->inputs.size() != 2) return {};
  for (const int factor : product->inputs)
    if (const Node* const inverse = patterns.inner(factor, "Reciprocal"))
      return {Patterns::other(*product, factor), deviation(patterns, inverse->inputs[0])};
  for (const int factor : product->inputs)
    if (const Node* const one = patterns.inner(factor, "Div");
        one && one->inputs.size() == 2 && patterns.number(one->inputs[0]) == 1.0)
      return {Patterns::other(*product, factor), deviation(patterns, one->inputs[1])};
  return {};
}

// A parameter of one dimension, which the norm's last one is then known to have the size of.
bool is_vector(const Graph& graph, int value) {
  const Datum* const constant = value == kAbsent ? nullptr : constant_of(graph, value);
  return constant && constant->is_tensor() && constant->value().rank() == 1 && constant->value().numel() > 1 &&
         constant->element() == Element::Float;
}

Attributes options_of(double epsilon) { return {{"axis", -1}, {"epsilon", epsilon}}; }

}  // namespace

void find_layer_norms(Graph& graph) {
  Patterns patterns(graph);
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Add" || node.inputs.size() != 2 || node.version < 7) continue;
    for (const int bias : node.inputs) {
      Node* const scaled = is_vector(graph, bias) ? patterns.inner(Patterns::other(node, bias), "Mul") : nullptr;
      if (!scaled || scaled->inputs.size() != 2) continue;
      const int weight = is_vector(graph, scaled->inputs[0]) ? scaled->inputs[0] : scaled->inputs[1];
      if (!is_vector(graph, weight) ||
          constant_of(graph, weight)->value().shape() != constant_of(graph, bias)->value().shape())
        continue;
      const auto [centred, by] = quotient(patterns, Patterns::other(*scaled, weight));
      // The difference from the mean is read by the quotient and by the square, twice where that is a product.
      const Node* const less = centred == kAbsent || by.x != centred ? nullptr : patterns.maker(centred, "Sub");
      if (!less || less->inputs.size() != 2) continue;
      const Node* const mean = patterns.inner(less->inputs[1], "ReduceMean");
      if (!mean || mean->inputs[0] != less->inputs[0] || !patterns.over_last(*mean)) continue;
      patterns.become(node, "LayerNormalization", {less->inputs[0], weight, bias}, options_of(by.epsilon));
      break;
    }
  }
  remove_unread(graph);
}

void find_rms_norms(Graph& graph) {
  Patterns patterns(graph);
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Mul" || node.inputs.size() != 2 || node.version < 7) continue;
    for (const int weight : node.inputs) {
      if (!is_vector(graph, weight)) continue;
      const auto [x, by] = quotient(patterns, Patterns::other(node, weight));
      if (x == kAbsent || by.x != x) continue;
      patterns.become(node, "RMSNormalization", {x, weight}, options_of(by.epsilon));
      break;
    }
  }
  remove_unread(graph);
}

}  // namespace kiln::onnx
