// Telling a transformer where its elements stand.
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
  Tensor<2> table;  // [length, width]: moved with its module, neither trained nor saved
  Dropout dropout = {.probability = 0};

  /// x [batch, time, width], whose first element stands at `start`. Throws ShapeError beyond the table's length.
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

  /// x [batch, time, width], whose first element stands at `start`. Throws ShapeError beyond the table's length.
  Tensor<3> forward(const Tensor<3>& x, std::int64_t start = 0) const;
};

struct LearnedPositionsConfig {
  std::int64_t length, width;
  Initializer initializer = init::Normal{.deviation = 0.02};
  LearnedPositions init(const Device& device) const;
};

// How rotary encoding goes on beyond the lengths that a model was trained with: what becomes of each frequency f, which
// is base^(-2 i / width), a wave of 2 pi / f positions.
namespace scaling {

struct None {};
/// f / factor (Chen et al., "Extending context window of large language models via position interpolation", 2023).
struct Linear {
  double factor = 1;
};
/// Another base, base * factor^(width / (width - 2)): high frequencies stay, the lowest is divided by the factor
/// ("NTK-aware" scaling, bloc97, 2023).
struct Ntk {
  double factor = 1;
};
/// None as long as a sequence is no longer than the table, whose length is that of training; for a longer one Ntk, whose
/// factor is factor * length / table's length - (factor - 1) (emozilla, "Dynamically scaled RoPE", 2023). Frequencies
/// change with every moment, so that caches hold keys that are not turned yet (Peng et al., "YaRN", 2023, section 3.3),
/// and each call turns all of them.
struct DynamicNtk {
  double factor = 1;
};
/// f where a wave turns more than beta_fast times within the original length, f / factor where it turns less than beta_slow
/// times, a mixture in between; and cosine and sine times `attention`, 0.1 log(factor) + 1 where left out (Peng et al.,
/// "YaRN", 2023).
struct Yarn {
  double factor = 1;
  std::int64_t original_length = 4096;
  double beta_fast = 32, beta_slow = 1;
  std::optional<double> attention = {};
  bool truncate = true;  // the mixture begins and ends at whole frequencies
};
/// f where a wave is shorter than original_length / high, f / factor where it is longer than original_length / low, a
/// mixture in between (Llama 3.1).
struct Llama3 {
  double factor = 8;
  double low = 1, high = 4;
  std::int64_t original_length = 8192;
};
/// Frequency i divided by factor i: as many as there are frequencies, each positive.
struct Divided {
  std::vector<double> factors;
};
/// Divided by `short_factors` as long as a sequence is no longer than original_length, by `long_factors` beyond; and cosine
/// and sine times `attention` (Ding et al., "LongRoPE: extending LLM context window beyond 2 million tokens", 2024). As
/// under DynamicNtk caches hold keys that are not turned yet.
struct LongRope {
  std::vector<double> short_factors, long_factors;
  std::int64_t original_length = 4096;
  double attention = 1;
};

}  // namespace scaling

using RotaryScaling = std::variant<scaling::None, scaling::Linear, scaling::Ntk, scaling::DynamicNtk, scaling::Yarn,
                                   scaling::Llama3, scaling::Divided, scaling::LongRope>;

/// [width / 2] frequencies, in double precision, and what cosine and sine are multiplied by.
struct RotaryFrequencies {
  std::vector<double> speeds;
  double amplitude = 1;
};
/// Of DynamicNtk and LongRope: those within the table. Throws ArgumentError for an odd width, or options that are not positive.
RotaryFrequencies rotary_frequencies(std::int64_t width, double base, const RotaryScaling& scaling = {});

/// What becomes of sequences that are longer than the table: under DynamicNtk the base within the table, and the factor;
/// under LongRope the frequencies beyond.
struct RotaryGrowth {
  double base = 10000, factor = 1;
  std::vector<double> speeds = {};  // of LongRope: those within the table, then as many beyond
  double amplitude = 1;
};

/// Turns pairs of elements by angles that grow with the position, so that products of queries and keys depend on their
/// distance (Su et al., "RoFormer", 2021).
struct RotaryEncoding {
  Tensor<2> cosine, sine;  // [length, width / 2]: moved with its module, neither trained nor saved
  RotaryPairs pairs = RotaryPairs::Halves;
  std::optional<RotaryGrowth> growth = {};

  /// x [..., time, width or more], of which the first `width` elements are turned, and whose first moment stands at
  /// `start`, as part of a sequence of `length`, which an encoding that grows asks for; 0: of one that ends with x. Throws ShapeError
  /// beyond the table's length, unless the encoding grows.
  template <int D>
  requires(D >= 2) Tensor<D> forward(const Tensor<D>& x, std::int64_t start = 0, std::int64_t length = 0) const {
    return Typed{apply(x.value(), start, length)};
  }
  /// x [batch, heads, time, width] whose moments stand at `positions` [batch, time]. Throws IndexError, and ArgumentError
  /// where the encoding grows: positions do not say how long a sequence is.
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
  std::int64_t width = 0;      // of the part of a head that is turned; attention's config fills in the head's
  std::int64_t length = 4096;  // the most positions, or those that a model was trained with under DynamicNtk; LongRope
                               // has no more of them in its table than its original_length
  double base = 10000;
  RotaryPairs pairs = RotaryPairs::Halves;
  RotaryScaling scaling = {};
  RotaryEncoding init(const Device& device) const;
};

}  // namespace kiln::nn
