#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

bool is_elementwise(const Node& node) { return node.row && node.row->traits.kind == OperatorKind::Elementwise; }

Ints order_of(const Node& transpose) {
  const Attribute* const perm = find_attribute(transpose, "perm");
  return perm ? perm->ints : Ints();
}
// Empty where they are no orders of the same rank: a file may say anything.
Ints composed(const Ints& first, const Ints& second) {
  if (first.size() != second.size()) return {};
  Ints made;
  for (const std::int64_t dim : second) {
    if (dim < 0 || dim >= static_cast<std::int64_t>(first.size())) return {};
    made.push_back(first[static_cast<std::size_t>(dim)]);
  }
  Ints sorted = made;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d)
    if (sorted[d] != static_cast<std::int64_t>(d)) return {};
  return made;
}

// f(transpose(x)) becomes transpose(f(x)): the nodes stay where they are and change what they do.
bool move_behind(Graph& graph) {
  bool moved = false;
  Patterns patterns(graph);
  for (Node& node : graph.nodes) {
    const bool fits = is_elementwise(node) && !node.inputs.empty() && node.outputs.size() == 1 &&
                      node.outputs[0] != kAbsent && patterns.readers(node.outputs[0]) == 1;
    Node* const transpose = fits ? patterns.inner(node.inputs[0], "Transpose") : nullptr;
    if (!transpose || order_of(*transpose).empty()) continue;
    // Other operands (the limits of a Clip) must exist where the function moves to.
    const bool early = std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                   [&](int input) { return input == kAbsent || graph.constants.count(input) != 0; });
    if (!early) continue;
    // The move is useful only if another transposition follows, which it can join.
    const int result = node.outputs[0];
    const bool can_join = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& reader) {
      const bool reads = std::count(reader.inputs.begin(), reader.inputs.end(), result) != 0;
      return reads && (reader.op == "Transpose" || is_elementwise(reader));
    });
    if (!can_join) continue;
    const int x = transpose->inputs[0], between = node.inputs[0];
    std::vector<int> rest = node.inputs;  // the limits of a Clip
    std::swap(*transpose, node);
    // `transpose` now holds the function and stands first, `node` the transposition.
    rest[0] = x;
    transpose->inputs = rest;
    transpose->outputs = {between};
    node.inputs = {between};
    node.outputs = {result};
    moved = true;
    break;
  }
  return moved;
}

}  // namespace

void join_transposes(Graph& graph) {
  // Each move brings a transposition one node nearer to its end.
  for (std::size_t moves = graph.nodes.size(); moves > 0 && move_behind(graph); --moves) continue;
  Patterns patterns(graph);
  std::vector<std::pair<int, int>> same;
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Transpose" || node.inputs.size() != 1) continue;
    const Node* const first = patterns.maker(node.inputs[0], "Transpose");
    const Ints order = first ? composed(order_of(*first), order_of(node)) : Ints();
    if (order.empty()) continue;
    node.inputs = first->inputs;
    node.attributes["perm"] = order;
  }
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Transpose" || node.inputs.size() != 1) continue;
    const Ints order = order_of(node);
    if (order.empty() || !std::is_sorted(order.begin(), order.end()) || composed(order, order).empty()) continue;
    node.op = "Identity";
    node.row = find_row("", "Identity", node.version);
    node.attributes.clear();
  }
  remove_identities(graph);
  remove_unread(graph);
}

}  // namespace kiln::onnx
