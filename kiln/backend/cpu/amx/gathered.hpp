// Convolutions of bfloat16 of few pixels: their windows are gathered in the order of the weight, which then needs no
// reordering.
#pragma once
#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::amx {

/// The largest kernel, in taps, whose windows can be gathered.
inline constexpr std::int64_t kMostGathered = Turn::kMost;

// These functions compute what ConvKernels describes, without a bias.
void convolve_gathered(const conv::Geometry& g, const conv::Operand& x, const conv::Operand& weight,
                       const conv::Operand& bias, Value& y, const Epilogue* epilogue);
void convolve_weight_gathered(const conv::Geometry& g, const conv::Operand& x, const conv::Operand& y, Value& weight);

}  // namespace kiln::cpu::amx
