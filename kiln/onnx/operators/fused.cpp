// com.microsoft: several operators as one, as ONNX Runtime's optimizer writes them.
#include <algorithm>
#include <cmath>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/lacking.hpp"
#include "kiln/onnx/operators/standard.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln::onnx {
namespace {

// The batch stands between rows and columns where `batch_inside`, and goes to the front; then a transposition.
Value operand(const Call& c, int i, std::string_view transposed, std::string_view batch_inside) {
  Value x = c[i];
  if (c.i(batch_inside, 0)) {
    c.check(x.rank() >= 3, batch_inside, " of ", x.shape());
    Dims order;
    for (int d = 1; d < x.rank() - 1; ++d) order.push_back(d);
    order.push_back(0);
    order.push_back(x.rank() - 1);
    x = permute(x, order);
  }
  c.check(x.rank() >= 1, "an operand without dimensions");
  return c.i(transposed, 0) && x.rank() >= 2 ? transpose(x) : x;
}

Results fused_matmul(Call& c) {
  const Value a = operand(c, 0, "transA", "transBatchA"), b = operand(c, 1, "transB", "transBatchB");
  const Value product = standard(c, "MatMul", 13, {Datum(a), Datum(b)}).value();
  const double alpha = c.f("alpha", 1);
  return alpha == 1 ? product : product * alpha;
}

// ---- products and convolutions with the function that follows -----------------------------------------------------
constexpr std::string_view kActivations[] = {"", "Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"};

std::string unknown_activation(const Node& node) {
  const std::string name = string_attribute(node, "activation", "");
  const bool known = std::find(std::begin(kActivations), std::end(kActivations), name) != std::end(kActivations);
  return known ? "" : text("activation ", shown(name));
}

// `a` and `b` are options of the function.
Value activated(const Call& c, const Value& x, double a, double b) {
  const std::string name = c.s("activation", "");
  if (name == "Clip") return clamp(x, a, b);
  if (name == "HardSigmoid") return clamp(x * a + b, 0, 1);
  if (name == "LeakyRelu") return leaky_relu(x, a);
  if (name == "Relu") return relu(x);
  if (name == "Sigmoid") return sigmoid(x);
  return name == "Tanh" ? tanh(x) : x;
}

Results fused_conv(Call& c) {
  const std::vector<float> given = c.floats("activation_params");
  const std::string name = c.s("activation", "");
  const std::size_t needed = name == "Clip" || name == "HardSigmoid" ? 2 : name == "LeakyRelu" ? 1 : 0;
  c.check(given.size() >= needed, "there are ", given.size(), " activation_params for ", name);
  const auto number = [&](std::size_t i) { return i < given.size() ? static_cast<double>(given[i]) : 0.0; };
  Value y = standard(c, "Conv", 11, {c.datum(0), c.datum(1), c.has(2) ? c.datum(2) : Datum()}).value();
  if (c.has(3)) y = y + c[3];
  return activated(c, y, number(0), number(1));
}

Results fused_gemm(Call& c) {
  const Value y = standard(c, "Gemm", 13, c.in).value();
  return activated(c, y, c.f("activation_alpha", 0), c.f("activation_beta", 0));
}

Value biased(const Call& c) { return c.has(1) ? c[0] + c[1] : c[0]; }
Results quick_gelu(Call& c) { return c[0] * sigmoid(c[0] * c.f("alpha", 1.702f)); }

// ---- norms --------------------------------------------------------------------------------------------------------
Value normalised(const Call& c, const Value& x, const Value& weight, const Value& bias, double epsilon) {
  c.check(weight.rank() == 1, "gamma is ", weight.shape(), ", not a number for each element of the last dimension");
  return layer_norm(x, weight, bias.empty() ? zeros_like(weight) : bias, epsilon);
}

Value skip_sum(const Call& c, int bias) {
  const Value sum = c[0] + c[1];
  c.check(sum.shape() == c[0].shape(), "the skipped ", c[1].shape(), " does not fit ", c[0].shape());
  return c.has(bias) ? sum + c[bias] : sum;
}

Results skip_layer_norm(Call& c) {
  const Value sum = skip_sum(c, 4);
  const double epsilon = c.f("epsilon", 1e-12f);
  Value mean_of, inverse;
  if (c.wants(1) || c.wants(2)) {
    const VarianceAndMean of = variance_and_mean(of_type(sum, DType::F32), {-1}, 0, true);
    mean_of = of.mean, inverse = rsqrt(of.variance + epsilon);
  }
  return {normalised(c, sum, c[2], c.get(3), epsilon), mean_of.empty() ? Datum() : Datum(mean_of),
          inverse.empty() ? Datum() : Datum(inverse), sum};
}

Results skip_rms_norm(Call& c) {
  const Value sum = skip_sum(c, 3);
  return {rms_norm(sum, c[2], c.f("epsilon", 1e-12f)), Datum(), Datum(), sum};
}

// Words, places and kinds of sentences as vectors, added and normalised; and how many words each sentence has.
Results embed_layer_norm(Call& c) {
  const Value ids = of_type(c[0], DType::I64);
  c.check(ids.rank() == 2, "input_ids are ", ids.shape(), ", not [batch, time]");
  const std::int64_t batch = ids.dim(0), time = ids.dim(1);
  Value places = c.has(8) ? of_type(c[8], DType::I64) : reshape(arange(0, time, 1, c.device()), {1, time});
  c.check(places.rank() == 2 && (places.dim(0) == 1 || places.dim(0) == batch) && places.dim(1) == time,
          "position_ids are ", places.shape(), " for ", ids.shape());
  Value sum = select(c[2], 0, ids) + select(c[3], 0, places);
  if (c.has(1) && c.has(4)) sum = sum + select(c[4], 0, of_type(c[1], DType::I64));
  Value count = zeros({batch}, c.device(), DType::I32);
  if (c.has(7)) {
    c.check(c[7].shape() == ids.shape(), "the mask is ", c[7].shape(), " for ", ids.shape());
    // The first word that is masked, or the number of words.
    const Value seen = cumprod(of_type(ne(c[7], 0), DType::I32), 1);
    count = of_type(kiln::sum(seen, {1}), DType::I32);
  }
  return {normalised(c, sum, c[5], c.get(6), c.f("epsilon", 1e-12f)), count, sum};
}

constexpr OperatorRow kFusedRows[] = {
    {"BiasGelu", 1, [](Call& c) -> Results { return gelu(biased(c)); }},
    {"EmbedLayerNormalization", 1, embed_layer_norm},
    {"FastGelu", 1, [](Call& c) -> Results { return gelu_tanh(biased(c)); }},
    {"FusedConv", 1, fused_conv, {.lacks = unknown_activation}},
    {"FusedGemm", 1, fused_gemm, {.lacks = unknown_activation}},
    {"FusedMatMul", 1, fused_matmul},
    {"Gelu", 1, [](Call& c) -> Results { return gelu(c[0]); }, {.kind = OperatorKind::Elementwise}},
    {"QuickGelu", 1, quick_gelu, {.kind = OperatorKind::Elementwise}},
    {"SkipLayerNormalization", 1, skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, skip_rms_norm},
};

}  // namespace

std::span<const OperatorRow> fused_rows() { return kFusedRows; }

}  // namespace kiln::onnx
