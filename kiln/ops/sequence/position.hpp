// Encodings of the positions of elements, for transformers.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The pairs of elements of a row that rotary() rotates together.
enum class RotaryPairs : std::uint8_t {
  Halves,      // i and i + width / 2 (GPT-NeoX, Llama)
  Neighbours,  // 2 i and 2 i + 1 (the paper, GPT-J)
};
/// Rotates pairs of elements of x [..., time, width] by the angles whose cosine and sine are given as [time, width / 2]
/// (or in any shape that broadcasts to x's with half the width) (Su et al., "RoFormer", 2021).
Value rotary(const Value& x, const Value& cosine, const Value& sine, RotaryPairs pairs = RotaryPairs::Halves);

struct RotaryTables {
  Value cosine, sine;
};
/// Tables for positions [time]: angles position / base^(2 i / width) -> [time, width / 2], in float32. Width must be
/// even.
RotaryTables rotary_tables(const Value& positions, std::int64_t width, double base = 10000);

/// shape [heads, queries, keys]: the distance of the key from the query, times the head's negative slope, to be added
/// to attention's scores; the last query has the position of the last key (Press, Smith, Lewis, "Train short, test
/// long", 2021).
Value alibi_bias(const Shape& shape, const Device& device);

/// shape [time, width]: sines of position / base^(2 i / width) in even columns, cosines in odd ones (Vaswani et al., 2017).
Value sinusoidal_positions(const Shape& shape, const Device& device, double base = 10000);

}  // namespace kiln
