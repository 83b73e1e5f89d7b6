#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostFolded = 1 << 24;  // elements that a folded node may make

// A node that may make more than a multiple of what it reads is left to the run of the model.
bool makes_much(const Node& node, const Graph& graph) {
  const bool by_shape = node.row->traits.kind == OperatorKind::GivenShape;
  std::int64_t elements = 1;
  if (by_shape && !node.inputs.empty()) {
    const Datum* const shape = constant_of(graph, node.inputs.back());
    if (!shape || !shape->is_tensor() || !is_integer(shape->value().dtype())) return true;
    for (const std::int64_t size : shape->value().data().to_vector<std::int64_t>())
      if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements)) return true;
    if (elements > kMostFolded) return true;
  }
  // The result of an operator that broadcasts may be as large as the product of its operands' sizes.
  std::int64_t product = 1;
  for (const int input : node.inputs)
    if (const Datum* const constant = input == kAbsent ? nullptr : constant_of(graph, input);
        constant && constant->is_tensor())
      if (__builtin_mul_overflow(product, std::max<std::int64_t>(constant->value().numel(), 1), &product)) return true;
  return product > (std::int64_t{1} << 40);
}

}  // namespace

void fold_constants(Graph& graph, const RunContext& context) {
  const NoGrad no_grad;
  Frame frame(graph);
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    bool constant = node.row && node.row->traits.folds && !node.row->traits.random && !has_subgraphs(node);
    for (const int input : node.inputs) {
      const Datum* const known = input == kAbsent ? nullptr : constant_of(graph, input);
      constant = constant && (input == kAbsent || (known && !known->is_string()));  // strings grow with every node
    }
    if (constant && !makes_much(node, graph)) {
      for (const int input : node.inputs)
        if (input != kAbsent) frame[input] = *constant_of(graph, input);
      run_node(node, graph, frame, context);
      for (const int input : node.inputs)
        if (input != kAbsent) frame[input] = {};
      for (const int output : node.outputs)
        if (output != kAbsent) graph.constants[output] = std::move(frame[output]);
      continue;
    }
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

}  // namespace kiln::onnx
