// Choosing between two runs, for elements of any type.
#pragma once
#include "kiln/backend/cpu/simd/elementwise/operand.hpp"

namespace kiln::cpu::simd {

/// z[i] = condition[i] ? x[i] : y[i]. Word is an unsigned integer of the elements' size.
template <class Word>
void select_block(Run<std::uint8_t> condition, Run<Word> x, Run<Word> y, Word* z, std::int64_t count);

}  // namespace kiln::cpu::simd
