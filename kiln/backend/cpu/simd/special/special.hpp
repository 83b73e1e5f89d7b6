// Functions of special.def in vectors of doubles.
#pragma once
#include <cstddef>

#include "kiln/ops/special/special_ops.hpp"

namespace kiln::cpu::simd {

/// z[i] = f(x[i]) for n numbers.
using SpecialBlock = void (*)(const double* x, double* z, std::size_t n);

/// The function for the machine at hand; null for those that go one number after the other.
SpecialBlock bessel_block(op::SpecialFn fn);

}  // namespace kiln::cpu::simd
