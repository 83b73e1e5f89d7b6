#include "kiln/nn/adapt/adapter.hpp"

#include <cmath>

#include "kiln/nn/initializer.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace nn {
namespace {

Value as_matrix(const Value& weight) { return reshape(weight, {weight.dim(0), -1}); }

/// Reshapes [out] to broadcast to a weight [out, ...].
Value per_output(const Value& value, const Value& weight) {
  Shape shape{value.dim(0)};
  for (int i = 1; i < weight.rank(); ++i) shape.push_back(1);
  return reshape(value, shape);
}

Value lengths(const Value& matrix) { return vector_norm(matrix, 2, {1}); }

/// An adapter with `make(param)` for each selected weight; biases are left alone.
template <class F>
Adapter adapter_of(std::string_view function, const std::vector<ParamWithPaths>& params, const Selector& weights,
                   F make) {
  const Paths paths = selected(function, params, weights);
  Adapter adapter;
  for (const ParamWithPaths& param : params) {
    const std::string& path = param.places[0].path;
    if (!paths.contains(path)) continue;
    if (param.value.rank() >= 2 && is_float(param.value.dtype())) adapter.parts.add(path, make(param));
  }
  require<ArgumentError>(adapter.parts.size() > 0 || paths.empty(), function, ": ", weights,
                         " selects no weight [out, ...] of floats");
  return adapter;
}

Device trained_on(const Value& weight) { return weight.device().autodiff(); }

}  // namespace

Value LowRank::weight(const Value& base) const {
  const Value change = matmul(b.value(), a.value()) * scale;
  return base + cast(reshape(change, base.shape()), base.dtype());
}

Value Magnitude::weight(const Value& base) const {
  const Value factor = magnitude.value() / lengths(as_matrix(base));
  return base * cast(per_output(factor, base), base.dtype());
}

Value Codes::weight(const Value&) const {
  return reshape(cast(codes.value(), scale.dtype()) * unsqueeze(scale.value(), 1), shape);
}

Adapter quantized(const std::vector<ParamWithPaths>& params, const Selector& weights) {
  const NoGrad pause;
  return adapter_of("quantize", params, weights, [](const ParamWithPaths& param) -> WeightPart {
    require<ArgumentError>(param.places.size() == 1, "quantize: '", param.places[0].path, "' is '",
                           param.places.back().path, "' as well: a weight in several places cannot be quantized");
    const Value matrix = as_matrix(param.value.detach());
    const Value scale = max(abs(matrix), {1}) / 127.0;
    const Value safe = where(eq(scale, 0), ones_like(scale), scale);  // an output whose weights are all 0
    return Codes{.codes = Param<2, Int>(cast(round(matrix / unsqueeze(safe, 1)), DType::I8)),
                 .scale = Param<1>(scale).with_frozen(true),
                 .shape = param.value.shape()};
  });
}

Value adapted_weight(const ByName<Adapter>& adapters, const std::string& path, const Value& weight) {
  Value result = weight;
  for (const auto& [name, adapter] : adapters) {
    const WeightPart* const part = adapter.parts.find(path);
    if (!part || adapter.strength == 0) continue;
    const Value made = std::visit([&](const auto& p) { return p.weight(result); }, *part);
    result = adapter.strength == 1 ? made : result + (made - result) * adapter.strength;
  }
  return result;
}

}  // namespace nn

Adapter LoraConfig::init(const nn::ModuleView& model) const {
  require<ArgumentError>(rank >= 1, "LoraConfig: rank = ", rank, " must be positive");
  require<ArgumentError>(std::isfinite(alpha) && alpha != 0, "LoraConfig: alpha = ", alpha,
                         " must be finite, and not 0: nothing would be learned");
  return nn::adapter_of(
      "LoraConfig", nn::params_with_paths(model), weights, [&](const nn::ParamWithPaths& param) -> nn::WeightPart {
        const Device device = nn::trained_on(param.value);
        const std::int64_t out = param.value.dim(0), in = param.value.numel() / std::max<std::int64_t>(out, 1);
        const auto size = static_cast<double>(rank);
        return nn::LowRank{
            .a = nn::Param<2>(nn::initialize(nn::kLayerDefault, {rank, in}, {.in = in, .out = rank}, device)),
            .b = nn::Param<2>(zeros({out, rank}, device)),
            .scale = alpha / (rank_stabilized ? std::sqrt(size) : size)};
      });
}

Adapter MagnitudeConfig::init(const nn::ModuleView& model) const {
  const NoGrad pause;
  return nn::adapter_of(
      "MagnitudeConfig", nn::params_with_paths(model), weights, [](const nn::ParamWithPaths& param) -> nn::WeightPart {
        const Value weight = to_device(cast(param.value.detach(), DType::F32), nn::trained_on(param.value));
        return nn::Magnitude{nn::Param<1>(nn::lengths(nn::as_matrix(weight)))};
      });
}

}  // namespace kiln
