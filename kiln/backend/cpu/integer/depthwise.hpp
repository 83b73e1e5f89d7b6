// Depthwise convolutions of 8-bit integers. They are computed in float32, some rows at a time, which is exact while the
// sums are below 2^24.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::integer {

/// Requires short sums, and padding smaller than the kernel. x is in channels-last order. Results go to `epilogue`, or
/// to `result` if it is null.
void depthwise(const conv::Geometry& g, const Array& x, std::int32_t zero, const conv::ConvOperand& weight,
               const Value& weight_zero, const Epilogue* epilogue, std::int32_t* result);

}  // namespace kiln::cpu::integer
