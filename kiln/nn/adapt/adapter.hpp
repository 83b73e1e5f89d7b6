// What makes a weight of another one: low-rank additions, lengths apart from directions, codes of eight bits. Each works on
// any weight of a model, whatever layer it belongs to; an Adapter is one such thing for each of the weights selected.
#pragma once
#include <string>
#include <variant>

#include "kiln/nn/adapt/by_name.hpp"
#include "kiln/nn/module/selector.hpp"

namespace kiln {

namespace nn {

/// weight + scale * b a, the product being of the weight's shape (Hu et al., "LoRA: low-rank adaptation of large language
/// models", 2021). A weight [out, ...] is taken as a matrix [out, all else].
struct LowRank {
  Param<2> a;  // [rank, all else]
  Param<2> b;  // [out, rank]
  double scale = 1;

  Value weight(const Value& base) const;
};

/// magnitude * weight / |weight|, the norm being that of each output's weights (Salimans, Kingma, "Weight normalization",
/// 2016). On top of a LowRank it is DoRA (Liu et al., "DoRA: weight-decomposed low-rank adaptation", 2024).
struct Magnitude {
  Param<1> magnitude;  // [out]

  Value weight(const Value& base) const;
};

/// scale * codes in place of an absent weight: integers of eight bits, a scale for each output.
struct Codes {
  Param<2, Int> codes;  // [out, all else], int8
  Param<1> scale;       // [out], frozen
  Shape shape;          // the weight's

  Value weight(const Value& base) const;
};

using WeightPart = std::variant<LowRank, Magnitude, Codes>;

}  // namespace nn

/// What is made of some weights of a model, by their paths.
struct [[nodiscard("an adapter is added to a model by Adapted::add_adapter()")]] Adapter {
  nn::ByName<nn::WeightPart> parts;
  double strength = 1;  // weight + strength * (adapted - weight): 0 is the model without it, 0.5 half of what it does
};

/// Low-rank additions to weights, which change nothing at first. Params: rank * (out + all else) for each weight.
struct LoraConfig {
  Selector weights = Selector::all();  // biases, and whatever else has less than two dimensions, are let be
  std::int64_t rank = 8;
  double alpha = 8;              // the addition is scaled by alpha / rank
  bool rank_stabilized = false;  // by alpha / sqrt(rank) (Kalajdzievski, "A rank stabilization scaling factor", 2023)

  /// Drawn from the device's stream, a as a layer's weight, b zeros. Throws ArgumentError for a rank below 1, or where no
  /// weight is selected.
  Adapter init(const nn::ModuleView& model) const;
};

/// The lengths of weights apart from their directions; those that the weights have, at first.
struct MagnitudeConfig {
  Selector weights = Selector::all();

  Adapter init(const nn::ModuleView& model) const;
};

namespace nn {

/// Weights as codes of eight bits: the nearest multiples of (the largest of an output's weights) / 127. Throws
/// ArgumentError for a tied weight.
Adapter quantized(const std::vector<PlacedParam>& params, const Selector& weights);

/// What adapters make of the weight at `path`, the first of them first.
Value adapted_weight(const ByName<Adapter>& adapters, const std::string& path, const Value& weight);

}  // namespace nn
}  // namespace kiln
