// Elements of 1 and 2 bytes and the words that hold their bits.
#pragma once
#include "kiln/backend/gpu/kernel/builder.hpp"

namespace kiln::gpu::lower {

/// The value of an element, as it is computed, whose bits are the low ones of a uint32; the others may be anything.
Expr value_of_bits(const Expr& bits, DType dtype);
/// The bits of an element with that value, below bits of 0.
Expr bits_of_value(const Expr& value, DType dtype);

}  // namespace kiln::gpu::lower
