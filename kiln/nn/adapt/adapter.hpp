// Adapters compute a weight from another one: by low-rank additions, by separate lengths and directions, or from 8-bit
// codes. Each kind works on any weight of a model, whatever its layer; an Adapter has one for each of the selected
// weights.
#pragma once
#include <string>
#include <variant>

#include "kiln/nn/adapt/by_name.hpp"
#include "kiln/nn/module/selector.hpp"

namespace kiln {

namespace nn {

/// weight + scale * b a, where the product is reshaped to the weight's shape (Hu et al., "LoRA: low-rank adaptation of
/// large language models", 2021). A weight [out, ...] is seen as a matrix [out, the rest].
struct LowRank {
  Param<2> a;  // [rank, the rest]
  Param<2> b;  // [out, rank]
  double scale = 1;

  Value weight(const Value& base) const;
};

/// magnitude * weight / |weight|, with a norm for each output's weights (Salimans, Kingma, "Weight normalization",
/// 2016). On top of a LowRank it is DoRA (Liu et al., "DoRA: weight-decomposed low-rank adaptation", 2024).
struct Magnitude {
  Param<1> magnitude;  // [out]

  Value weight(const Value& base) const;
};

/// scale * codes, which replaces an absent weight: 8-bit integers with a scale per output.
struct Codes {
  Param<2, Int> codes;  // [out, the rest], int8
  Param<1> scale;       // [out], frozen
  Shape shape;          // the weight's

  Value weight(const Value& base) const;
};

using WeightPart = std::variant<LowRank, Magnitude, Codes>;

}  // namespace nn

/// What computes some weights of a model from others, by their paths.
struct [[nodiscard("an adapter is added to a model by Adapted::add_adapter()")]] Adapter {
  nn::ByName<nn::WeightPart> parts;
  double strength = 1;  // weight + strength * (adapted - weight): 0 disables the adapter, 0.5 halves its effect
};

/// Low-rank additions to weights, initially 0. Parameters: rank * (out + the rest) for each weight.
struct LoraConfig {
  Selector weights = Selector::all();  // biases, and other parameters with less than two dimensions, are left alone
  std::int64_t rank = 8;
  double alpha = 8;  // the addition is scaled by alpha / rank
  // Scales by alpha / sqrt(rank) instead (Kalajdzievski, "A rank stabilization scaling factor", 2023).
  bool rank_stabilized = false;

  /// `a` is drawn from the device's random stream like a layer's weight, b is zeros. Throws ArgumentError for a rank
  /// below 1, or if no weight is selected.
  Adapter init(const nn::ModuleView& model) const;
};

/// Lengths of weights that are trained apart from their directions; initially those of the weights.
struct MagnitudeConfig {
  Selector weights = Selector::all();

  Adapter init(const nn::ModuleView& model) const;
};

namespace nn {

/// Weights as 8-bit codes: the nearest multiples of (the largest absolute weight of an output) / 127. Throws
/// ArgumentError for a tied weight.
Adapter quantized(const std::vector<ParamWithPaths>& params, const Selector& weights);

/// Applies the adapters to the weight at `path`, in order.
Value adapted_weight(const ByName<Adapter>& adapters, const std::string& path, const Value& weight);

}  // namespace nn
}  // namespace kiln
