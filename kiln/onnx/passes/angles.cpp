#include <numbers>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

// Is `value` so and so much more than `base`?
bool is_sum(Patterns& patterns, int value, int base, double more) {
  if (const Node* const sum = patterns.maker(value, "Add"))
    return sum->inputs.size() == 2 && patterns.is_number(Patterns::other(*sum, base), more);
  const Node* const rest = patterns.maker(value, "Sub");
  return rest && rest->inputs.size() == 2 && rest->inputs[0] == base && patterns.is_number(rest->inputs[1], -more);
}

// The operand that `condition` compares with zero.
int compared(Patterns& patterns, int condition, std::string_view op) {
  const Node* const node = patterns.maker(condition, op);
  return node && node->inputs.size() == 2 && patterns.number(node->inputs[1]) == 0.0 ? node->inputs[0] : kAbsent;
}

}  // namespace

// where(x < 0, where(y > 0, a + pi, a - pi), a) with a = atan(y / x)
void find_angles(Graph& graph) {
  Patterns patterns(graph);
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Where" || node.inputs.size() != 3) continue;
    const int angle = node.inputs[2];
    const Node* const atan = patterns.maker(angle, "Atan");
    const Node* const slope = atan ? patterns.maker(atan->inputs[0], "Div") : nullptr;
    const Node* const left = patterns.maker(node.inputs[1], "Where");
    if (!slope || slope->inputs.size() != 2 || slope->version < 7 || !left || left->inputs.size() != 3) continue;
    const int y = slope->inputs[0], x = slope->inputs[1];
    if (compared(patterns, node.inputs[0], "Less") == x && compared(patterns, left->inputs[0], "Greater") == y &&
        is_sum(patterns, left->inputs[1], angle, std::numbers::pi) &&
        is_sum(patterns, left->inputs[2], angle, -std::numbers::pi))
      patterns.become(node, "Atan2", {y, x}, {});
  }
  remove_unread(graph);
}

}  // namespace kiln::onnx
