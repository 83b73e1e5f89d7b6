// Operators that become modules of kiln/nn together with their weights: a row each. Modules are made of float32: weights of
// other types stay parameters of operators.
#include <algorithm>

#include "kiln/onnx/generate/layers.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

// ---- products -------------------------------------------------------------------------------------------------------
Layer linear_layer(const Value& weights, const Value& bias) {
  Layer layer{{}, "nn::Linear", "nn::LinearConfig", {}, {{"weight", weights}}};
  layer.options = {number("in", weights.dim(1)), number("out", weights.dim(0)), flag("bias", !bias.empty(), true)};
  if (!bias.empty()) layer.tensors["bias"] = bias;
  return layer;
}

Value as_rows(const Value& matrix) { return from_data(transpose(matrix).data(), matrix.device()); }

// y = x W^T + b. A bias of one number for all outputs is spread over them.
MaybeStatement gemm(const Site& n) {
  const Value w = weight(n, 1, 2);
  if (w.empty() || !n.typed(0, Float) || n.i("transA", 0) || n.f("alpha", 1) != 1 || !n.gives(Float)) return {};
  const Value rows = n.i("transB", 0) ? w : as_rows(w);
  Value bias;
  if (n.has(2)) {
    bias = weight(n, 2, 1);
    if (bias.empty() || n.f("beta", 1) != 1 || bias.numel() != rows.dim(0)) return {};
  }
  return call(n, linear_layer(rows, bias), 1, "linear");
}

// A linear layer. Its bias is that of an addition, where no other node reads the product.
MaybeStatement product(const Site& n) {
  const Value w = weight(n, 1, 2);
  if (w.empty() || !n.typed(0, Float) || n.rank(0) < 1 || !n.gives(Float)) return {};
  const Value rows = as_rows(w);
  const Node* const next = n.lowering.only_reader(n.node.outputs[0]);
  if (next && next->op == "Add" && next->domain.empty() && next->version >= 7 && next->inputs.size() == 2) {
    const Site sum{n.lowering, *next};
    const std::size_t other = next->inputs[0] == n.node.outputs[0] ? 1 : 0;
    const Value bias = weight(sum, other, 1);
    if (!bias.empty() && bias.numel() == rows.dim(0) && sum.gives(Float)) {
      n.lowering.skip(*next);
      Statement statement = call(n, linear_layer(rows, bias), 1, "linear");
      statement.results = {next->outputs[0]};
      return statement;
    }
  }
  return call(n, linear_layer(rows, {}), 1, "linear");
}

// ---- convolutions ---------------------------------------------------------------------------------------------------
struct Window {
  Ints stride, dilation, before, after;
};
// The window that attributes give; nothing where it depends on the size of x, or where padding is negative.
std::optional<Window> window_of(const Site& n, int dims) {
  const auto size = static_cast<std::size_t>(dims);
  const std::string how = n.s("auto_pad", "NOTSET");
  Window w{n.list("strides"), n.list("dilations"), {}, {}};
  Ints pads = n.list("pads");
  if (w.stride.empty()) w.stride.assign(size, 1);
  if (w.dilation.empty()) w.dilation.assign(size, 1);
  if (pads.empty() || how == "VALID") pads.assign(2 * size, 0);
  if ((how != "NOTSET" && how != "VALID" && !how.empty()) || w.stride.size() != size || w.dilation.size() != size ||
      pads.size() != 2 * size)
    return {};
  for (const Ints& list : {w.stride, w.dilation})
    if (std::any_of(list.begin(), list.end(), [](std::int64_t each) { return each < 1; })) return {};
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t each) { return each < 0; })) return {};
  w.before.assign(pads.begin(), pads.begin() + dims);
  w.after.assign(pads.begin() + dims, pads.end());
  return w;
}

MaybeStatement convolution(const Site& n, bool transposed) {
  const Value w = weight(n, 1, -1);
  if (w.empty() || w.rank() < 3 || w.rank() > 5 || !n.typed(0, Float) || n.rank(0) != w.rank() || !n.gives(Float))
    return {};
  const int dims = w.rank() - 2;
  const std::optional<Window> window = window_of(n, dims);
  const Ints kernel(w.shape().begin() + 2, w.shape().end()), given = n.list("kernel_shape");
  const std::int64_t groups = n.i("group", 1);
  if (!window || (!given.empty() && given != kernel) || groups < 1) return {};
  Ints more = n.list("output_padding");
  if (more.empty()) more.assign(static_cast<std::size_t>(dims), 0);
  if (transposed && (n.given("output_shape") || static_cast<int>(more.size()) != dims)) return {};
  for (int d = 0; transposed && d < dims; ++d)
    if (more[static_cast<std::size_t>(d)] >= window->stride[static_cast<std::size_t>(d)]) return {};
  Value bias;
  const std::int64_t in = transposed ? w.dim(0) : w.dim(1) * groups, out = transposed ? w.dim(1) * groups : w.dim(0);
  if (in % groups || out % groups || numel(w.shape()) == 0) return {};
  if (n.has(2)) {
    bias = weight(n, 2, 1);
    if (bias.empty() || bias.numel() != out) return {};
  }
  const std::string type = text("nn::Conv", transposed ? "Transpose" : "", dims, 'd');
  Layer layer{{}, type, type + "Config", {}, {{"weight", w}}};
  if (!bias.empty()) layer.tensors["bias"] = bias;
  layer.options = {number("in", in),
                   number("out", out),
                   sizes("kernel", kernel, 0),
                   sizes("stride", window->stride, 1),
                   sizes("padding", window->before, 0),
                   sizes("dilation", window->dilation, 1)};
  Option after = sizes("padding_after", window->after, 0);
  if (window->before == window->after) after.value = after.usual = "{}";
  layer.options.push_back(after);
  if (transposed) layer.options.push_back(sizes("result_padding", more, 0));
  layer.options.push_back(number("groups", groups, "1"));
  layer.options.push_back(flag("bias", !bias.empty(), true));
  return call(n, std::move(layer), 1, "conv");
}
MaybeStatement conv(const Site& n) { return convolution(n, false); }
MaybeStatement conv_transpose(const Site& n) { return convolution(n, true); }

double shortest(float number) { return std::stod(text(number)); }

// ---- norms ----------------------------------------------------------------------------------------------------------
MaybeStatement batch_norm(const Site& n) {
  const Value values[] = {weight(n, 1, 1), weight(n, 2, 1), weight(n, 3, 1), weight(n, 4, 1)};
  for (const Value& value : values)
    if (value.empty() || value.numel() != values[0].numel()) return {};
  if (n.node.outputs.size() > 1 || n.i("training_mode", 0) || (n.node.version < 9 && n.i("spatial", 1) == 0)) return {};
  if (!n.typed(0, Float) || n.rank(0) < 2 || n.rank(0) > 5 || !n.gives(Float) || n.operand(0).element != Element::Float)
    return {};
  Layer layer{{}, "nn::BatchNorm", "nn::BatchNormConfig", {}, {}};
  layer.tensors = {{"weight", values[0]}, {"bias", values[1]}, {"running_mean", values[2]}, {"running_var", values[3]}};
  // ONNX's momentum is the weight of the old statistics, Kiln's that of the new ones.
  const double momentum = 1 - shortest(static_cast<float>(n.f("momentum", 0.9f)));
  layer.options = {number("channels", values[0].numel()),
                   real("momentum", std::stod(text(static_cast<float>(momentum))), 0.1),
                   real("epsilon", shortest(static_cast<float>(n.f("epsilon", 1e-5f))), 1e-5)};
  return call(n, std::move(layer), 1, "norm");
}

MaybeStatement layer_norm(const Site& n) {
  const Value scale = weight(n, 1, 1), bias = weight(n, 2, 1);
  if (scale.empty() || (n.has(2) && (bias.empty() || bias.numel() != scale.numel()))) return {};
  if (!n.typed(0, Float) || n.operand(0).element != Element::Float || !n.gives(Float)) return {};
  const std::int64_t axis = n.i("axis", -1);
  if (axis != -1 && axis != n.rank(0) - 1) return {};
  const bool rms = n.node.op == "RMSNormalization";
  Layer layer{{}, rms ? "nn::RmsNorm" : "nn::LayerNorm", rms ? "nn::RmsNormConfig" : "nn::LayerNormConfig", {}, {}};
  layer.tensors = {{"weight", scale}};
  layer.options = {number("size", scale.numel()),
                   real("epsilon", shortest(static_cast<float>(n.f("epsilon", 1e-5f))), 1e-5)};
  if (!rms) layer.options.push_back(flag("bias", n.has(2), true));
  if (n.has(2)) layer.tensors["bias"] = bias;
  return call(n, std::move(layer), 1, "norm");
}

MaybeStatement group_norm(const Site& n) {
  const bool by_instance = n.node.op == "InstanceNormalization";
  const Value scale = weight(n, 1, 1), bias = weight(n, 2, 1);
  const std::int64_t groups = by_instance ? 1 : n.i("num_groups", 0);
  if (scale.empty() || bias.empty() || groups < 1 || scale.numel() % groups || !n.typed(0, Float) || !n.gives(Float) ||
      n.operand(0).element != Element::Float || n.rank(0) < 3 || (!by_instance && n.node.version < 21))
    return {};
  Layer layer{{}, by_instance ? "nn::InstanceNorm" : "nn::GroupNorm", {}, {}, {{"weight", scale}, {"bias", bias}}};
  layer.config = layer.type + "Config";
  if (!by_instance) layer.options.push_back(number("groups", groups));
  layer.options.push_back(number("channels", scale.numel()));
  layer.options.push_back(real("epsilon", shortest(static_cast<float>(n.f("epsilon", 1e-5f))), 1e-5));
  return call(n, std::move(layer), 1, "norm");
}

// ---- tables ---------------------------------------------------------------------------------------------------------
// Rows of a table by index. An Embedding refuses negative indices, which ONNX counts from the end, so that a model whose
// examples have some gets none.
MaybeStatement embedding(const Site& n) {
  const Value table = weight(n, 0, 2);
  if (n.has(1) && n.lowering.observed().negative.count(n.node.inputs[1])) return {};
  if (table.empty() || n.i("axis", 0) != 0 || !n.typed(1, Int) || !n.gives(Float)) return {};
  Layer layer{{}, "nn::Embedding", "nn::EmbeddingConfig", {}, {{"weight", table}}};
  layer.options = {number("count", table.dim(0)), number("size", table.dim(1))};
  return call(n, std::move(layer), 0, "embedding", {n.in(1)});
}

struct LayerRow {
  std::string_view op;
  MaybeStatement (*layer)(const Site& n);
};
constexpr LayerRow kLayerRows[] = {
    {"BatchNormalization", batch_norm},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"Gather", embedding},
    {"Gemm", gemm},
    {"GRU", recurrent_layer},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", group_norm},
    {"LayerNormalization", layer_norm},
    {"LSTM", recurrent_layer},
    {"MatMul", product},
    {"RMSNormalization", layer_norm},
};

}  // namespace

MaybeStatement layer_of(const Site& site) {
  if (!site.node.domain.empty()) return {};
  for (const LayerRow& row : kLayerRows)
    if (row.op == site.node.op) return row.layer(site);
  return {};
}

}  // namespace kiln::onnx::cpp
