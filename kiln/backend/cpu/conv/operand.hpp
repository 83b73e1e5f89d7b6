// Operands in channels-last order: [batch, channels, sizes...] with the channels of one pixel side by side.
// Convolutions are fastest on it, and elementwise ops keep it, so a network reorders its input once and nothing in
// between.
#pragma once
#include "kiln/backend/cpu/channels_last.hpp"
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::conv {

/// A convolution's operand with the copy of it, if there had to be one.
struct Operand {
  Value value;
  Array array;

  static Operand channels_last(const Value& value);
  static Operand contiguous(const Value& value);
};

}  // namespace kiln::cpu::conv
