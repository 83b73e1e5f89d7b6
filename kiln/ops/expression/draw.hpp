// The results of op::Random and op::Dropout as trees over the words of a stream. The words come from the library's
// function philox: word j of the stream `key` is philox(low, high, 0, 0, key low, key high)[j % 4] for the halves of
// j / 4.
#pragma once
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// The variables of a sample, by their indices in the scope.
enum class WordVariable : std::uint8_t {
  A,
  B,  // the operands of op::Random
  Word,
  Second,  // word i of the stream; in float64 words 2i and 2i + 1. For Normal, those of the even element of i's pair
  Other,
  OtherSecond,  // for Normal, the words of the odd element
  Odd,          // a truth value: whether i is odd
};

/// The tree for element i; null for distributions that consume a varying number of words from a stream of each element.
const Tree* draw(op::Distribution distribution);

/// The variables of such a sample, by their indices in the scope.
enum class StreamVariable : std::uint8_t {
  A,
  B,            // the operands of op::Random
  Element,      // the low half of i
  ElementHigh,  // the high half of i
  Key,          // the low half of the key
  KeyHigh,      // the high half of the key
};

/// The tree for element i from its own stream, by rejection; null for the distributions of draw(). In float32 an
/// element may, rarely, be rejected that the CPU, which samples in float64, accepts; the result then differs but has
/// the same distribution. Integer computes in uint64, as the bits of int64. Categorical gives a number between 0 and A,
/// the sum of the row's weights: the element is the first class whose running sum exceeds it, or else the last class
/// with a weight.
const Tree* sample(op::Distribution distribution);

/// The result of dropout for x, scale (a number), threshold (a word: DropoutThreshold::threshold), word (i / 2 of the
/// stream) and odd (a truth value: whether i is odd).
const Tree& dropout();

}  // namespace kiln::expr
