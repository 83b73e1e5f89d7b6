// The step from the graph of a file to one that is written as C++: calls of functions become the functions' nodes. Passes
// for inference alone (batch norms into convolutions) are left out, since the result is to be trained.
#include <algorithm>

#include "kiln/onnx/generate/program.hpp"
#include "kiln/onnx/passes/passes.hpp"
#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx::cpp {
namespace {

void inline_functions(Graph& graph);

// Makes a value absent wherever it is read, in sub-graphs as well.
void make_absent(Graph& graph, int value) {
  for (Node& node : graph.nodes) {
    for (int& input : node.inputs)
      if (input == value) input = kAbsent;
    each_graph(node, [&](auto& inner) {
      const auto reads = [&](const Graph::Capture& capture) { return capture.outer == value; };
      const auto found = std::find_if(inner->captures.begin(), inner->captures.end(), reads);
      if (found == inner->captures.end()) return;
      auto copy = std::make_shared<Graph>(*inner);
      make_absent(*copy, found->inner);
      std::erase_if(copy->captures, reads);
      inner = std::move(copy);
    });
  }
  for (int& output : graph.outputs)
    if (output == value) output = kAbsent;
}

// A copy of a sub-graph whose captures are other values of the graph around it.
std::shared_ptr<const Graph> recaptured(const Graph& inner, const std::vector<int>& places) {
  auto copy = std::make_shared<Graph>(inner);
  for (Graph::Capture& capture : copy->captures) {
    capture.outer = places[static_cast<std::size_t>(capture.outer)];
    if (capture.outer == kAbsent) make_absent(*copy, capture.inner);
  }
  std::erase_if(copy->captures, [](const Graph::Capture& capture) { return capture.outer == kAbsent; });
  return copy;
}

// The nodes of a call's function, on the values of `graph`. Their names begin with the call's.
void add_function(Graph& graph, const Node& call, std::vector<Node>& nodes) {
  Graph body = *call.function;
  inline_functions(body);
  std::vector<int> places(body.values.size(), kAbsent);
  std::vector<bool> placed(body.values.size());
  const auto place = [&](int value, int where) {
    places[static_cast<std::size_t>(value)] = where;
    placed[static_cast<std::size_t>(value)] = true;
  };
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    place(body.inputs[i], i < call.inputs.size() ? call.inputs[i] : kAbsent);
  std::vector<std::pair<int, int>> copies;  // results that are values already: inputs, or results for the second time
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i] == kAbsent) continue;
    if (placed[static_cast<std::size_t>(body.outputs[i])]) copies.emplace_back(body.outputs[i], call.outputs[i]);
    else place(body.outputs[i], call.outputs[i]);
  }
  for (std::size_t value = 0; value < body.values.size(); ++value)
    if (!placed[value])
      place(static_cast<int>(value),
            graph.add_value(text(call.name, '/', body.values[value].name), body.values[value].type));
  for (const auto& [value, constant] : body.constants)
    graph.constants.emplace(places[static_cast<std::size_t>(value)], constant);
  for (Node node : body.nodes) {
    node.name = text(call.name, '/', node.name);
    for (auto* list : {&node.inputs, &node.outputs})
      for (int& value : *list)
        if (value != kAbsent) value = places[static_cast<std::size_t>(value)];
    each_graph(node, [&](auto& inner) { inner = recaptured(*inner, places); });
    nodes.push_back(std::move(node));
  }
  for (const auto& [from, to] : copies) {
    Node copy;
    copy.name = call.name;
    copy.op = "Identity";
    copy.version = kNewestOpset;
    copy.row = find_row("", copy.op, copy.version);
    copy.inputs = {places[static_cast<std::size_t>(from)]};
    copy.outputs = {to};
    nodes.push_back(std::move(copy));
  }
}

void inline_functions(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    each_graph(node, [](auto& inner) {
      auto copy = std::make_shared<Graph>(*inner);
      inline_functions(*copy);
      inner = std::move(copy);
    });
    if (node.function) add_function(graph, node, nodes);
    else nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  find_last_uses(graph);
}

}  // namespace

Graph prepared(Graph graph, const RunContext& context) {
  graph.replaceable.clear();  // a parameter, which is given by being assigned
  inline_functions(graph);
  remove_identities(graph);
  fold_constants(graph, context);
  fold_shapes(graph, context);
  join_transposes(graph);
  find_gelus(graph);
  find_layer_norms(graph);
  find_rms_norms(graph);
  find_attention(graph);
  remove_unread(graph);
  find_last_uses(graph);
  return graph;
}

}  // namespace kiln::onnx::cpp
