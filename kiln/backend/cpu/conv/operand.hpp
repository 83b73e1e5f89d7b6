// Operands in channels-last order: [batch, channels, sizes...] with the channels of one pixel contiguous. Convolutions
// are fastest in this order, and elementwise ops keep it, so a network reorders its input once, and nothing after that.
#pragma once
#include "kiln/backend/cpu/channels_last.hpp"
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::conv {

/// An operand of a convolution, together with its copy if one was needed.
struct ConvOperand {
  Value value;
  Array array;

  static ConvOperand channels_last(const Value& value);
  static ConvOperand contiguous(const Value& value);
};

}  // namespace kiln::cpu::conv
