#include <algorithm>
#include <utility>

#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx {
namespace {

const Datum* floats_of(const Graph& graph, int value) {
  const Datum* const constant = value == kAbsent ? nullptr : constant_of(graph, value);
  return constant && constant->is_tensor() && constant->element() == Element::Float ? constant : nullptr;
}

/// What a norm does to a channel, where that is known: x becomes x * factor + shift; both are [channels].
struct Scaling {
  Value factor, shift;
};
std::optional<Scaling> scaling_of(const Graph& graph, const Node& norm) {
  if (!norm.row || norm.version < 7 || norm.inputs.size() != 5 || int_attribute(norm, "training_mode", 0) ||
      !int_attribute(norm, "spatial", 1))
    return std::nullopt;
  const auto wanted = std::count_if(norm.outputs.begin(), norm.outputs.end(), [](int o) { return o != kAbsent; });
  if (wanted != 1 || norm.outputs[0] == kAbsent) return std::nullopt;
  std::vector<Value> in;  // scale, bias, mean, variance
  for (int i = 1; i < 5; ++i) {
    const Datum* const constant = floats_of(graph, norm.inputs[static_cast<std::size_t>(i)]);
    if (!constant || constant->value().rank() != 1) return std::nullopt;
    in.push_back(constant->value());
    if (in.back().shape() != in[0].shape()) return std::nullopt;
  }
  const Attribute* const epsilon = find_attribute(norm, "epsilon");
  const Value factor = in[0] / sqrt(in[3] + (epsilon ? static_cast<double>(epsilon->f) : 1e-5));
  return Scaling{factor, in[1] - in[2] * factor};
}

/// A node's second and third operand, the latter empty where it has none; nothing where they are not known.
struct Weights {
  Value weight, bias;
};
std::optional<Weights> weights_of(const Graph& graph, const Node& node) {
  const Datum* const weight = node.inputs.size() > 1 ? floats_of(graph, node.inputs[1]) : nullptr;
  if (!weight) return std::nullopt;
  if (node.inputs.size() < 3 || node.inputs[2] == kAbsent) return Weights{weight->value(), {}};
  const Datum* const bias = floats_of(graph, node.inputs[2]);
  return bias ? std::optional(Weights{weight->value(), bias->value()}) : std::nullopt;
}
void set_weights(Graph& graph, Node& node, const Weights& weights) {
  const auto add = [&](int named_like, const Value& value) {
    const int added = graph.add_value(graph[named_like].name);
    graph.constants[added] = Datum(value);
    return added;
  };
  const int weight = node.inputs[1],
            bias = node.inputs.size() > 2 && node.inputs[2] != kAbsent ? node.inputs[2] : weight;
  node.inputs = {node.inputs[0], add(weight, weights.weight), add(bias, weights.bias)};
}

/// Gives a convolution the weight and bias with which it makes what is scaled by itself now; false where its own are not known.
bool scale_result(Graph& graph, Node& conv, const Scaling& by) {
  const std::optional<Weights> own = weights_of(graph, conv);
  const Shape channels = by.factor.shape();
  if (!own || own->weight.rank() < 3 || own->weight.dim(0) != channels[0] ||
      (own->bias && own->bias.shape() != channels))
    return false;
  Shape spread = Shape::filled(own->weight.rank(), 1);
  spread[0] = channels[0];
  set_weights(graph, conv,
              {own->weight * reshape(by.factor, spread), own->bias ? own->bias * by.factor + by.shift : by.shift});
  return true;
}

/// Scales the constant operand of a product in place of the product's other operand.
bool scale_operand(Graph& graph, Node& product, const Scaling& by) {
  const std::optional<Weights> own = weights_of(graph, product);
  const auto is_one = [&](std::string_view name) {
    const Attribute* const factor = find_attribute(product, name);
    return !factor || factor->f == 1;
  };
  if (!own || own->weight.rank() != 2 || int_attribute(product, "transA", 0) || !is_one("alpha") || !is_one("beta"))
    return false;
  const int along = int_attribute(product, "transB", 0) ? 1 : 0;  // what it takes, of the weight's dimensions
  const std::int64_t features = own->weight.dim(along), channels = by.factor.numel();
  if (channels == 0 || features % channels != 0 ||
      (own->bias && own->bias.shape() != Shape{own->weight.dim(1 - along)}))
    return false;
  const auto of_each = [&](const Value& of_channels) {
    const Value all = expand(unsqueeze(of_channels, 1), {channels, features / channels});
    return reshape(all, along ? Shape{1, features} : Shape{features, 1});
  };
  const Value shift = sum(own->weight * of_each(by.shift), {along});
  set_weights(graph, product, {own->weight * of_each(by.factor), own->bias ? own->bias + shift : shift});
  return true;
}

/// Has it found any? Then there may be more: norms of norms.
bool fold_into_convs(Graph& graph) {
  Patterns patterns(graph);
  bool found = false;
  for (Node& norm : graph.nodes) {
    if (norm.op != "BatchNormalization" || !norm.domain.empty()) continue;
    const std::optional<Scaling> scaling = scaling_of(graph, norm);
    Node* const conv = scaling ? patterns.inner(norm.inputs[0], "Conv") : nullptr;
    if (!conv || !scale_result(graph, *conv, *scaling)) continue;
    conv->outputs = {std::exchange(norm.outputs[0], kAbsent)};
    found = true;
  }
  std::erase_if(graph.nodes, [](const Node& node) {
    return node.op == "BatchNormalization" && std::ranges::all_of(node.outputs, [](int o) { return o == kAbsent; });
  });
  return found;
}

void fold_into_products(Graph& graph) {
  Patterns patterns(graph);
  for (Node& product : graph.nodes) {
    if (product.op != "Gemm" || !product.domain.empty() || !product.row || product.inputs.empty()) continue;
    Node* const flatten = patterns.inner(product.inputs[0], "Flatten");
    Node& reader = flatten && int_attribute(*flatten, "axis", 1) == 1 ? *flatten : product;
    Node* const norm = reader.inputs.empty() ? nullptr : patterns.inner(reader.inputs[0], "BatchNormalization");
    const std::optional<Scaling> scaling = norm ? scaling_of(graph, *norm) : std::nullopt;
    if (scaling && scale_operand(graph, product, *scaling)) reader.inputs[0] = norm->inputs[0];
  }
}

}  // namespace

void fold_batch_norms(Graph& graph) {
  const NoGrad no_grad;
  while (fold_into_convs(graph)) {}
  fold_into_products(graph);
}

}  // namespace kiln::onnx
