#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

// Floats of at least one dimension are a model's parameters: what they are when it is loaded says nothing of later.
bool stays_as_it_is(const Datum& constant) {
  return constant.is_tensor() && (!is_float(constant.value().dtype()) || constant.value().rank() == 0);
}

// Constants of the graph around become constants inside.
void hand_down(const Graph& outer, Graph& inner) {
  std::erase_if(inner.captures, [&](const Graph::Capture& capture) {
    const Datum* const constant = constant_of(outer, capture.outer);
    if (!constant || !stays_as_it_is(*constant)) return false;
    inner.constants.emplace(capture.inner, *constant);
    return true;
  });
}

// Nodes may share a graph: each gets a copy that is its own.
std::shared_ptr<const Graph> simplified(const Graph& graph, const Graph* outer, const RunContext& context) {
  auto copy = std::make_shared<Graph>(graph);
  if (outer) hand_down(*outer, *copy);
  simplify(*copy, context);
  return copy;
}

void simplify_graphs_of_nodes(Graph& graph, const RunContext& context) {
  for (Node& node : graph.nodes) {
    if (node.function) node.function = simplified(*node.function, nullptr, context);
    each_graph(node, [&](auto& inner) { inner = simplified(*inner, &graph, context); });
  }
}

}  // namespace

void simplify(Graph& graph, const RunContext& context) {
  remove_identities(graph);
  fold_constants(graph, context);
  fold_shapes(graph, context);
  simplify_graphs_of_nodes(graph, context);
  join_transposes(graph);
  find_gelus(graph);
  find_angles(graph);
  find_fake_quantisation(graph);
  find_layer_norms(graph);
  find_rms_norms(graph);
  find_squares(graph);
  find_attention(graph);
  fold_batch_norms(graph);
  remove_unread(graph);
  find_last_uses(graph);
}

}  // namespace kiln::onnx
