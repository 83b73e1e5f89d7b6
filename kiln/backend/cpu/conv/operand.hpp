// Operands in channels-last order: [batch, channels, sizes...] with the channels of one pixel contiguous. Convolutions
// are fastest in this order, and elementwise ops keep it, so a network reorders its input once, and nothing after that.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"

namespace kiln::cpu::conv {

/// An operand of a convolution, together with its copy if one was needed.
struct ConvOperand {
  Value value;
  Array array;

  static ConvOperand channels_last(const Value& value) { return read(value, channels_last_strides(value.shape())); }
  static ConvOperand contiguous(const Value& value) { return read(value, contiguous_strides(value.shape())); }

 private:
  static ConvOperand read(const Value& value, const Dims& strides) {
    ConvOperand operand{value, {}};
    operand.array = read_in(value, strides, operand.value);
    return operand;
  }
};

}  // namespace kiln::cpu::conv
