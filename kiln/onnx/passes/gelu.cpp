#include <algorithm>
#include <cmath>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

constexpr double kRootOf2 = 1.4142135623730951, kRootOf2OverPi = 0.7978845608028654;

// x of x / sqrt(2), which may be written as a product; kAbsent where it is none.
int over_root_of_2(Patterns& patterns, int value) {
  if (const Node* const div = patterns.inner(value, "Div"))
    return div->inputs.size() == 2 && patterns.is_number(div->inputs[1], kRootOf2) ? div->inputs[0] : kAbsent;
  if (const Node* const mul = patterns.inner(value, "Mul"))
    for (const int input : mul->inputs)
      if (patterns.is_number(input, 1 / kRootOf2)) return Patterns::other(*mul, input);
  return kAbsent;
}

// x of sqrt(2 / pi) (x + 0.044715 x^3).
int inside_tanh(Patterns& patterns, int value) {
  const Node* const scaled = patterns.inner(value, "Mul");
  if (!scaled) return kAbsent;
  for (const int factor : scaled->inputs) {
    const Node* const sum =
        patterns.is_number(factor, kRootOf2OverPi) ? patterns.inner(Patterns::other(*scaled, factor), "Add") : nullptr;
    if (!sum || sum->inputs.size() != 2) continue;
    for (const int x : sum->inputs) {
      const Node* const cubic = patterns.inner(Patterns::other(*sum, x), "Mul");
      if (!cubic) continue;
      for (const int number : cubic->inputs) {
        if (!patterns.is_number(number, 0.044715)) continue;
        const Node* const power = patterns.inner(Patterns::other(*cubic, number), "Pow");
        if (power && power->inputs.size() == 2 && power->inputs[0] == x && patterns.number(power->inputs[1]) == 3.0)
          return x;
      }
    }
  }
  return kAbsent;
}

// The factors of products of products.
void factors_of(Patterns& patterns, const Node& product, std::vector<int>& factors, int depth = 0) {
  for (const int input : product.inputs) {
    const Node* const inner = depth < 2 ? patterns.inner(input, "Mul") : nullptr;
    if (inner) factors_of(patterns, *inner, factors, depth + 1);
    else factors.push_back(input);
  }
}

}  // namespace

void find_gelus(Graph& graph) {
  Patterns patterns(graph);
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Mul" || node.inputs.size() != 2 || node.version < 7) continue;
    std::vector<int> factors;
    factors_of(patterns, node, factors);
    if (factors.size() != 3) continue;
    for (const int factor : factors) {  // 1 + erf(...) or 1 + tanh(...)
      const Node* const sum = patterns.inner(factor, "Add");
      if (!sum || sum->inputs.size() != 2) continue;
      const int one = patterns.number(sum->inputs[1]) == 1.0 ? sum->inputs[1] : sum->inputs[0];
      if (patterns.number(one) != 1.0) continue;
      const int bend = Patterns::other(*sum, one);
      const Node* const erf = patterns.inner(bend, "Erf");
      const Node* const tanh = patterns.inner(bend, "Tanh");
      const int x = erf    ? over_root_of_2(patterns, erf->inputs[0])
                    : tanh ? inside_tanh(patterns, tanh->inputs[0])
                           : kAbsent;
      const bool has_x = x != kAbsent && std::count(factors.begin(), factors.end(), x) == 1;
      const bool has_half =
          std::any_of(factors.begin(), factors.end(), [&](int f) { return patterns.number(f) == 0.5; });
      if (!has_x || !has_half) continue;
      patterns.become(node, "Gelu", {x}, {{"approximate", erf ? "none" : "tanh"}});
      break;
    }
  }
  remove_unread(graph);
}

}  // namespace kiln::onnx
