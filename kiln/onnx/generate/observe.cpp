// Kinds, types and ranks of the values of a graph, as a run shows them.
#include <algorithm>

#include "kiln/onnx/generate/program.hpp"
#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx::cpp {
namespace {

bool rank_is_sure(const Node& node, const Graph& graph, const Shapes& shapes, const Observed& observed) {
  const auto sure = [&](int value) {
    return value == kAbsent || observed.values[static_cast<std::size_t>(value)].sure;
  };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), sure) || has_subgraphs(node)) return false;
  const OperatorTraits& traits = node.row->traits;
  if (traits.rank == ResultRank::OfData) return false;
  if (traits.kind == OperatorKind::GivenShape) {
    // The rank is the length of the list, whatever its entries are. Version 1 of Reshape has them as an attribute.
    if (node.op == "Reshape" && node.version < 5) return true;
    const auto& list = shapes[node.inputs.empty() ? kAbsent : node.inputs.back()];
    return list && list->size() == 1 && list->front().value;
  }
  const bool is_reduction = traits.kind == OperatorKind::Reduction;
  if (!is_reduction && traits.rank == ResultRank::Static) return true;
  if (find_attribute(node, "axes") || (is_reduction && node.inputs.size() < 2)) return true;
  return node.inputs.size() > 1 && std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](int value) {
           return value == kAbsent || constant_of(graph, value);
         });
}

Observed::Seen seen(const Datum& datum) {
  Observed::Seen what{datum.kind(), datum.element()};
  if (datum.is_tensor()) what.rank = datum.value().rank();
  return what;
}

// Indices that count from the end, which nn::Embedding refuses.
bool takes_negative(const Node& node, const Frame& frame) {
  if (node.op != "Gather" || node.inputs.size() != 2 || node.inputs[1] == kAbsent) return false;
  const Datum& indices = frame[node.inputs[1]];
  if (!indices.is_tensor() || !is_integer(indices.value().dtype()) || indices.value().numel() == 0) return false;
  const auto list = indices.value().data().to_vector<std::int64_t>();
  return *std::min_element(list.begin(), list.end()) < 0;
}

}  // namespace

Observed observe(const Graph& graph, const std::vector<Datum>& inputs, const RunContext& shared) {
  const NoGrad pause;
  Observed observed;
  const RunContext context{shared.device, shared.file, shared.trips, &observed.ran};
  observed.values.resize(graph.values.size());
  Frame frame(graph);
  const auto note = [&](int value, bool sure) {
    auto& now = observed.values[static_cast<std::size_t>(value)];
    now = seen(frame[value]);
    now.sure = sure && now.rank >= 0;
  };
  for (const auto& [value, constant] : graph.constants) {
    frame[value] = constant;
    note(value, true);
  }
  if (inputs.size() < graph.inputs.size()) {  // no examples: then what is declared is known
    for (const int input : graph.inputs) {
      const TypeProto& type = graph[input].type;
      if (type.kind == TypeProto::Kind::Tensor && type.shape && is_known(type.element))
        observed.values[static_cast<std::size_t>(input)] = {Datum::Kind::Tensor, type.element,
                                                            static_cast<int>(type.shape->size()), true};
    }
    return observed;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TypeProto& type = graph[graph.inputs[i]].type;
    frame[graph.inputs[i]] = inputs[i];
    note(graph.inputs[i], type.shape && type.element != Element::Undefined);
  }
  const Shapes shapes = infer_shapes(graph);
  try {
    for (const Node& node : graph.nodes) {
      if (takes_negative(node, frame)) observed.negative.insert(node.inputs[1]);
      run_node(node, graph, frame, context);
      const bool sure = rank_is_sure(node, graph, shapes, observed);
      for (const int output : node.outputs)
        if (output != kAbsent) note(output, sure || shapes[output]);
      for (const int value : node.last_uses) frame[value] = {};
    }
    for (const int output : graph.outputs) {
      const Datum& made = frame[output];
      if (made.is_tensor()) (void)made.value().data();  // what goes wrong, does so here
      observed.outputs.push_back(made);
    }
  } catch (const Error& error) {
    observed.outputs.clear();
    observed.why_not = error.message();
  }
  return observed;
}

}  // namespace kiln::onnx::cpp
