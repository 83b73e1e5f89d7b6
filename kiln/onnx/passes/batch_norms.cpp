#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx {

void fold_batch_norms(Graph& graph) {
  const NoGrad no_grad;
  std::vector<int> readers(graph.values.size()), maker(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int input : graph.nodes[n].inputs)
      if (input != kAbsent) ++readers[static_cast<std::size_t>(input)];
    for (const int output : graph.nodes[n].outputs)
      if (output != kAbsent) maker[static_cast<std::size_t>(output)] = static_cast<int>(n);
  }
  std::vector<bool> dropped(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& norm = graph.nodes[n];
    if (!norm.row || norm.op != "BatchNormalization" || norm.version < 7 || norm.inputs.size() != 5) continue;
    const auto option = [&](std::string_view name) {
      const auto found = norm.attributes.find(name);
      return found == norm.attributes.end() ? nullptr : &found->second;
    };
    if (option("training_mode") && option("training_mode")->i) continue;
    if (option("spatial") && !option("spatial")->i) continue;
    const auto wanted = std::count_if(norm.outputs.begin(), norm.outputs.end(), [](int o) { return o != kAbsent; });
    const int x = norm.inputs[0];
    if (wanted != 1 || norm.outputs[0] == kAbsent || x == kAbsent || maker[static_cast<std::size_t>(x)] < 0 ||
        readers[static_cast<std::size_t>(x)] != 1 || is_output(graph, x) || is_captured(graph, x))
      continue;
    const auto at = static_cast<std::size_t>(maker[static_cast<std::size_t>(x)]);
    Node& conv = graph.nodes[at];
    if (!conv.row || conv.op != "Conv" || conv.inputs.size() < 2 || dropped[at]) continue;
    std::vector<const Datum*> in;  // scale, bias, mean, variance, weight
    for (const int input : {norm.inputs[1], norm.inputs[2], norm.inputs[3], norm.inputs[4], conv.inputs[1]})
      in.push_back(input == kAbsent ? nullptr : constant_of(graph, input));
    const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != kAbsent;
    in.push_back(has_bias ? constant_of(graph, conv.inputs[2]) : in[0]);
    const bool fits = std::all_of(
        in.begin(), in.end(), [&](const Datum* d) { return d && d->is_tensor() && d->element() == Element::Float; });
    if (!fits || in[4]->value().rank() < 3) continue;
    const std::int64_t channels = in[4]->value().dim(0);
    bool same = true;
    for (const int i : {0, 1, 2, 3, 5})
      same = same && in[static_cast<std::size_t>(i)]->value().shape() == Shape{channels};
    if (!same) continue;
    const Attribute* const epsilon = option("epsilon");
    const Value scale = in[0]->value() / sqrt(in[3]->value() + (epsilon ? static_cast<double>(epsilon->f) : 1e-5));
    const Value bias = has_bias ? in[5]->value() : zeros_like(scale);
    Shape spread = Shape::filled(in[4]->value().rank(), 1);
    spread[0] = channels;
    const int weight = graph.add_value(graph.values[static_cast<std::size_t>(conv.inputs[1])].name);
    const int shift = graph.add_value(graph.values[static_cast<std::size_t>(norm.inputs[2])].name);
    graph.constants[weight] = Datum(in[4]->value() * reshape(scale, spread));
    graph.constants[shift] = Datum((bias - in[2]->value()) * scale + in[1]->value());
    conv.inputs = {conv.inputs[0], weight, shift};
    conv.outputs = {norm.outputs[0]};
    maker[static_cast<std::size_t>(norm.outputs[0])] = static_cast<int>(at);
    maker.resize(graph.values.size(), -1);
    readers.resize(graph.values.size());
    dropped[n] = true;
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (!dropped[n]) kept.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(kept);
}

}  // namespace kiln::onnx
