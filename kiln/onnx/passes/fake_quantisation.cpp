#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {
namespace {

bool is_float32(const Datum* datum) {
  return datum && datum->is_tensor() && datum->element() == Element::Float && datum->value().numel() == 1;
}

}  // namespace

void find_fake_quantisation(Graph& graph) {
  Patterns patterns(graph);
  const auto optional = [](const Node& node, std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : kAbsent;
  };
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "DequantizeLinear" || node.inputs.size() < 2) continue;
    const Node* const quantise = patterns.maker(node.inputs[0], "QuantizeLinear");
    if (!quantise || quantise->inputs.size() < 2) continue;
    const int scale = quantise->inputs[1], zero = optional(*quantise, 2);
    const bool same = patterns.number(scale) && patterns.number(scale) == patterns.number(node.inputs[1]) &&
                      zero != kAbsent && patterns.number(zero) == patterns.number(optional(node, 2));
    const Datum* const code = zero == kAbsent ? nullptr : constant_of(graph, zero);
    if (!same || !code || !is_float32(constant_of(graph, scale)) || !is_float32(constant_of(graph, node.inputs[1])))
      continue;
    const bool is_signed = code->element() == Element::Int8;
    if (!is_signed && code->element() != Element::Uint8) continue;
    if (find_attribute(node, "output_dtype") || find_attribute(*quantise, "precision")) continue;
    const double least = (is_signed ? -128 : 0) - *patterns.number(zero);
    patterns.become(node, "FakeQuantize", {quantise->inputs[0], scale}, {{"low", least}, {"high", least + 255}});
  }
  remove_unread(graph);
}

}  // namespace kiln::onnx
