// Einstein's summation.
#pragma once
#include <string_view>

#include "kiln/ops/functions.hpp"

namespace kiln {

/// einsum("bij,bjk->bik", {x, y}): each dimension has a letter; dimensions with the same letter have the same index.
/// Letters that are missing in the result are summed over. A letter twice in an operand takes its diagonal; "..."
/// stands for dimensions that broadcast; without "->" the result has the letters that occur once, in alphabetical
/// order, after the dimensions of "...". Sizes of 1 broadcast. Several operands are contracted two at a time through
/// matmul, each time the pair whose product adds the least memory. Throws ArgumentError and ShapeError.
Value einsum(std::string_view expression, Inputs operands);
inline Value einsum(std::string_view expression, std::initializer_list<Value> operands) {
  return einsum(expression, Inputs(operands.begin(), operands.size()));
}

}  // namespace kiln
