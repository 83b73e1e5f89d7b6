// The functions of special.def that are computed in vectors of doubles.
#pragma once
#include <cstddef>

#include "kiln/ops/special/special_ops.hpp"

namespace kiln::cpu::simd {

/// z[i] = f(x[i]) for n numbers.
using SpecialBlock = void (*)(const double* x, double* z, std::size_t n);

/// Returns the function for the instruction set of this machine, or null if the function has no vector form.
SpecialBlock bessel_block(op::SpecialFn fn);

}  // namespace kiln::cpu::simd
