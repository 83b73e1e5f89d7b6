// Integers of 64 bits as pairs of words of 32 bits: arithmetic with the meaning of arithmetic.hpp.
#pragma once
#include "kiln/backend/gpu/kernel/builder.hpp"

namespace kiln::gpu::lower {

/// Two values of type uint32.
struct Pair {
  Expr low, high;
};

Pair pair_of(Builder& k, std::uint64_t bits);
/// Computes x op y, of int64 or uint64 numbers; `y` is ignored by operators of one operand. No comparisons.
Pair compute_pair(Arithmetic op, bool is_signed, const Pair& x, const Pair& y);
/// A truth.
Expr compare_pairs(Arithmetic op, bool is_signed, const Pair& x, const Pair& y);
Pair select(const Expr& condition, const Pair& yes, const Pair& no);

/// Converts from a type of one word, a truth or a float.
Pair cast_to_pair(const Expr& x, bool is_signed);
Expr cast_from_pair(const Pair& x, bool is_signed, DType to);

}  // namespace kiln::gpu::lower
