// From the graph of a file to one that is written as C++: calls of functions become the functions' nodes, and what only
// inference wants (batch norms folded into convolutions) stays as it is, since the result is to be trained.
#include <algorithm>

#include "kiln/onnx/generate/program.hpp"
#include "kiln/onnx/passes/passes.hpp"
#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx::cpp {
namespace {

void inline_functions(Graph& graph);

// A copy of a sub-graph whose captures are other values of the graph around it.
std::shared_ptr<const Graph> recaptured(const Graph& inner, const std::vector<int>& places) {
  auto copy = std::make_shared<Graph>(inner);
  for (Graph::Capture& capture : copy->captures) capture.outer = places[static_cast<std::size_t>(capture.outer)];
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
    for (auto& [name, attribute] : node.attributes)
      for (auto& inner : attribute.graphs) inner = recaptured(*inner, places);
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
    for (auto& [name, attribute] : node.attributes)
      for (auto& inner : attribute.graphs) {
        auto copy = std::make_shared<Graph>(*inner);
        inline_functions(*copy);
        inner = std::move(copy);
      }
    if (node.function) add_function(graph, node, nodes);
    else nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  find_last_uses(graph);
}

// Operators whose result's rank depends on elements; if those are constants it does not.
bool rank_is_data(const Node& node) {
  static constexpr std::string_view kByInputs[] = {"Reshape", "Squeeze", "Unsqueeze", "Expand", "ConstantOfShape"};
  static constexpr std::string_view kAlways[] = {"If",           "Loop",     "Scan",
                                                 "SequenceAt",   "Optional", "OptionalGetElement",
                                                 "GatherND",     "Identity", "ConcatFromSequence",
                                                 "ImageDecoder", "Gradient", "FlexAttention"};
  const auto among = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), node.op) != std::end(list);
  };
  return among(kAlways) || among(kByInputs) || (node.op.starts_with("Reduce") && node.inputs.size() > 1);
}

bool rank_is_sure(const Node& node, const Graph& graph, const Shapes& shapes, const Observed& observed) {
  const auto sure = [&](int value) {
    return value == kAbsent || observed.values[static_cast<std::size_t>(value)].sure;
  };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), sure) || has_subgraphs(node)) return false;
  if (node.op == "Identity") return true;
  if (!rank_is_data(node)) return true;
  if (node.op == "ConstantOfShape") {
    const auto& shape = shapes[node.inputs[0]];
    return shape && shape->size() == 1 && shape->front().value;
  }
  if (find_attribute(node, "axes") || (node.op == "Reshape" && node.version < 5)) return true;
  if (node.op == "GatherND" || node.inputs.size() < 2) return false;
  // As many dimensions as a list has entries, whatever they are.
  if (node.op == "Reshape" || node.op == "Expand") {
    const auto& shape = shapes[node.inputs[1]];
    return shape && shape->size() == 1 && shape->front().value;
  }
  const bool by_inputs = node.op.starts_with("Reduce") || node.op == "Squeeze" || node.op == "Unsqueeze";
  return by_inputs && std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                  [&](int value) { return value == kAbsent || constant_of(graph, value); });
}

Observed::Seen seen(const Datum& datum) {
  Observed::Seen what{datum.kind(), datum.element()};
  if (datum.is_tensor()) what.rank = datum.value().rank();
  return what;
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

Observed observe(const Graph& graph, std::vector<Datum> inputs, const RunContext& context) {
  const NoGrad pause;
  Observed observed;
  observed.inputs = inputs;
  observed.values.resize(graph.values.size());
  Frame frame(graph.values.size());
  const auto note = [&](int value, bool sure) {
    auto& now = observed.values[static_cast<std::size_t>(value)];
    now = seen(frame[static_cast<std::size_t>(value)]);
    now.sure = sure && now.rank >= 0;
  };
  for (const auto& [value, constant] : graph.constants) {
    frame[static_cast<std::size_t>(value)] = constant;
    note(value, true);
  }
  if (inputs.size() < graph.inputs.size()) {  // no examples: then what is declared is known
    for (const int input : graph.inputs) {
      const TypeProto& type = graph.values[static_cast<std::size_t>(input)].type;
      if (type.kind == TypeProto::Kind::Tensor && type.shape && is_known(type.element))
        observed.values[static_cast<std::size_t>(input)] = {Datum::Kind::Tensor, type.element,
                                                            static_cast<int>(type.shape->size()), true};
    }
    return observed;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TypeProto& type = graph.values[static_cast<std::size_t>(graph.inputs[i])].type;
    frame[static_cast<std::size_t>(graph.inputs[i])] = std::move(inputs[i]);
    note(graph.inputs[i], type.shape && type.element != Element::Undefined);
  }
  const Shapes shapes = infer_shapes(graph);
  try {
    for (const Node& node : graph.nodes) {
      run_node(node, graph, frame, context);
      const bool sure = rank_is_sure(node, graph, shapes, observed);
      for (const int output : node.outputs)
        if (output != kAbsent) note(output, sure || shapes[output]);
      for (const int value : node.last_uses) frame[static_cast<std::size_t>(value)] = {};
    }
    for (const int output : graph.outputs) observed.outputs.push_back(frame[static_cast<std::size_t>(output)]);
  } catch (const Error& error) {
    observed.outputs.clear();
    observed.why_not = error.message();
  }
  return observed;
}

}  // namespace kiln::onnx::cpp
