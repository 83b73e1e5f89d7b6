// Convolutions of 8-bit integers with one filter for each channel: as those of float32, which are exact where the sums stay
// below 2^24, some rows at a time.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::integer {

/// The sums must be short, and the padding smaller than the kernel. x is in channels-last order. Results go to
/// `epilogue`, or to `result` if it is null.
void depthwise(const conv::Geometry& g, const Array& x, std::int32_t zero, const conv::Operand& weight,
               const Value& weight_zero, const Epilogue* epilogue, std::int32_t* result);

}  // namespace kiln::cpu::integer
