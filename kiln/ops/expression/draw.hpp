// What op::Random and op::Dropout make of a stream's words, as trees. The words come from the library's function
// philox: word j of the stream `key` is philox(low, high, 0, 0, key low, key high)[j % 4] for the halves of j / 4.
#pragma once
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// The variables of a draw, by their places in the scope.
enum class Drawn : std::uint8_t {
  A,
  B,  // the operands of op::Random
  Word,
  Second,  // word i of the stream; in float64 words 2i and 2i + 1. Of Normal, those of the even element of i's pair
  Other,
  OtherSecond,  // of Normal, those of the odd one
  Odd,          // a truth: is i odd?
};

/// Element i; null for distributions that draw as many words as it takes, from streams of each element.
const Tree* draw(op::Distribution distribution);

/// The variables of such a draw, by their places in the scope.
enum class Sampled : std::uint8_t {
  A,
  B,            // the operands of op::Random
  Element,      // the low half of i
  ElementHigh,  // the high one
  Key,          // the low half of the key
  KeyHigh,      // the high one
};

/// Element i from its own stream, by rejection; null for the distributions of draw(). In float32 an element may, rarely,
/// be rejected that the processor, which draws in float64, accepts: another draw then, of the same distribution.
/// Of Integer numbers of uint64 that stand for the bits of int64. Of Categorical a number between 0 and A, the sum of
/// the row's weights: the element is the first class whose running sum exceeds it, or else the last that has a weight.
const Tree* sample(op::Distribution distribution);

/// What is left of an element: of x, scale (a number), threshold (a word: Drops::threshold), word (i / 2 of the stream)
/// and odd (a truth: is i?).
const Tree& dropout();

}  // namespace kiln::expr
