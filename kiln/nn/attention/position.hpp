// Position encodings for transformers.
#pragma once
#include <variant>
#include <vector>

#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/ops/sequence/position.hpp"

namespace kiln::nn {

/// Adds sines and cosines of the position (Vaswani et al., "Attention is all you need", 2017).
struct PositionalEncoding {
  Tensor<2> table;  // [length, width]: moved with the module, neither trained nor saved
  Dropout dropout = {.probability = 0};

  /// x [batch, time, width]; its first element has position `start`. Throws ShapeError beyond the table's length.
  Tensor<3> forward(const Tensor<3>& x, std::int64_t start = 0) const;
};

struct PositionalEncodingConfig {
  std::int64_t width;
  std::int64_t length = 5000;  // the most positions
  double base = 10000;
  double dropout = 0;
  PositionalEncoding init(const Device& device) const;
};

/// Adds a learned vector for each position.
struct LearnedPositions {
  Param<2> weight;  // [length, width]

  /// x [batch, time, width]; its first element has position `start`. Throws ShapeError beyond the table's length.
  Tensor<3> forward(const Tensor<3>& x, std::int64_t start = 0) const;
};

struct LearnedPositionsConfig {
  std::int64_t length, width;
  Initializer initializer = init::Normal{.deviation = 0.02};
  LearnedPositions init(const Device& device) const;
};

// How rotary encoding extends beyond the lengths of training, as changes of each frequency f. f is base^(-2 i / width),
// a wave with a period of 2 pi / f positions.
namespace scaling {

struct None {};
/// f / factor (Chen et al., "Extending context window of large language models via position interpolation", 2023).
struct Linear {
  double factor = 1;
};
/// Another base, base * factor^(width / (width - 2)): high frequencies stay, and the lowest is divided by the factor
/// ("NTK-aware" scaling, bloc97, 2023).
struct Ntk {
  double factor = 1;
};
/// No scaling while a sequence is no longer than the table, which has the length of training; for a longer sequence Ntk
/// with the factor factor * length / table's length - (factor - 1) (emozilla, "Dynamically scaled RoPE", 2023).
/// Frequencies change with each time step, so caches hold keys before rotation (Peng et al., "YaRN", 2023, section
/// 3.3), and each call rotates all of them.
struct DynamicNtk {
  double factor = 1;
};
/// f where a wave makes more than beta_fast turns within the original length, f / factor where it makes less than
/// beta_slow, and an interpolation in between; cosine and sine are multiplied by `attention`, by default 0.1
/// log(factor) + 1 (Peng et al., "YaRN", 2023).
struct Yarn {
  double factor = 1;
  std::int64_t original_length = 4096;
  double beta_fast = 32, beta_slow = 1;
  std::optional<double> attention = {};
  bool truncate = true;  // the interpolation begins and ends at whole frequencies
};
/// f where a period is shorter than original_length / high, f / factor where it is longer than original_length / low,
/// and an interpolation in between (Llama 3.1).
struct Llama3 {
  double factor = 8;
  double low = 1, high = 4;
  std::int64_t original_length = 8192;
};
/// Frequency i is divided by factor i: one positive factor per frequency.
struct Divided {
  std::vector<double> factors;
};
/// Divided by `short_factors` while a sequence is no longer than original_length, by `long_factors` beyond; cosine and
/// sine are multiplied by `attention` (Ding et al., "LongRoPE: extending LLM context window beyond 2 million tokens",
/// 2024). As with DynamicNtk, caches hold keys before rotation.
struct LongRope {
  std::vector<double> short_factors, long_factors;
  std::int64_t original_length = 4096;
  double attention = 1;
};

}  // namespace scaling

using RotaryScaling = std::variant<scaling::None, scaling::Linear, scaling::Ntk, scaling::DynamicNtk, scaling::Yarn,
                                   scaling::Llama3, scaling::Divided, scaling::LongRope>;

/// [width / 2] frequencies, in double precision, and the factor of cosine and sine.
struct RotaryFrequencies {
  std::vector<double> radians;
  double amplitude = 1;
};
/// For DynamicNtk and LongRope, the frequencies within the table. Throws ArgumentError for an odd width, or options
/// that are not positive.
RotaryFrequencies rotary_frequencies(std::int64_t width, double base, const RotaryScaling& scaling = {});

/// What sequences longer than the table use: with DynamicNtk the base within the table, and the factor; with LongRope
/// further frequencies.
struct RotaryGrowth {
  double base = 10000, factor = 1;
  std::vector<double> radians = {};  // for LongRope: those within the table, then as many for longer sequences
  double amplitude = 1;
};

/// Rotates pairs of elements by angles that grow with the position, so that products of queries and keys depend on
/// their distance (Su et al., "RoFormer", 2021).
struct RotaryEncoding {
  Tensor<2> cosine, sine;  // [length, width / 2]: moved with the module, neither trained nor saved
  RotaryPairs pairs = RotaryPairs::Halves;
  std::optional<RotaryGrowth> growth = {};

  /// Rotates the first `width` elements of x [..., time, width or more]. Its first time step has position `start` in a
  /// sequence of `length`, which matters if the encoding grows; 0: the sequence ends with x. Throws ShapeError beyond
  /// the table's length, unless the encoding grows.
  template <int D>
  requires(D >= 2) Tensor<D> forward(const Tensor<D>& x, std::int64_t start = 0, std::int64_t length = 0) const {
    return Typed{apply(x.value(), start, length)};
  }
  /// Rotates x [batch, heads, time, width], whose time steps have `positions` [batch, time]. Throws IndexError, and
  /// ArgumentError if the encoding grows: positions do not tell how long a sequence is.
  Tensor<4> forward(const Tensor<4>& x, const Tensor<2, Int>& positions) const;
  Value apply(const Value& x, std::int64_t start, std::int64_t length = 0) const;

 private:
  struct Table {
    Value cosine, sine;
  };
  Table table(std::int64_t start, std::int64_t count, std::int64_t length) const;
  Value turned(const Value& x, const Table& table) const;
};

struct RotaryEncodingConfig {
  std::int64_t width = 0;      // width of the rotated part of a head; attention's config fills in the head's width
  std::int64_t length = 4096;  // the most positions; for DynamicNtk the length of training; for LongRope the table
                               // has at most original_length of them
  double base = 10000;
  RotaryPairs pairs = RotaryPairs::Halves;
  RotaryScaling scaling = {};
  RotaryEncoding init(const Device& device) const;
};

}  // namespace kiln::nn
