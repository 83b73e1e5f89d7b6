// Einstein's summation.
#pragma once
#include <string_view>

#include "kiln/ops/functions.hpp"

namespace kiln {

/// einsum("bij,bjk->bik", {x, y}): a letter for each dimension, the same letter for dimensions that run together. What
/// the result does not name is summed. A letter twice in an operand takes its diagonal; "..." stands for dimensions
/// that broadcast; without "->" the result has the letters that occur once, in alphabetical order, after those of
/// "...". Sizes of 1 broadcast. Several operands are contracted two at a time through matmul, always the two whose
/// product has the least memory to gain. Throws ArgumentError and ShapeError.
Value einsum(std::string_view expression, Inputs operands);
inline Value einsum(std::string_view expression, std::initializer_list<Value> operands) {
  return einsum(expression, Inputs(operands.begin(), operands.size()));
}

}  // namespace kiln
