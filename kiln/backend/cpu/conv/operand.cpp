#include "kiln/backend/cpu/conv/operand.hpp"

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu::conv {

ConvOperand ConvOperand::channels_last(const Value& value) {
  const Array from = read(value);
  const Dims order = channels_last_strides(from.shape);
  if (strided::same_order(from.shape, from.strides, order)) return {value, from};
  ConvOperand copied{Value(make_ref<Node>(value.node()->desc, value.device())), {}};
  copied.array = allocate(copied.value, order, MemoryUse::Scratch);
  copy(from, copied.array);
  return copied;
}

ConvOperand ConvOperand::contiguous(const Value& value) {
  ConvOperand operand{value, {}};
  operand.array = read_contiguous(value, operand.value);
  operand.array.strides = contiguous_strides(operand.array.shape);
  return operand;
}

}  // namespace kiln::cpu::conv
