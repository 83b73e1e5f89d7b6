// Prefix sums over threads.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

struct Prefix {
  Expr before;  // the sum of x over all threads before this one
  Expr all;     // the sum of all
};

/// Sums over the threads of a block, always in the same order. All of them must get here.
Prefix prefix_sum(Builder& k, const Expr& x);

/// Replaces each line of `counts` [lines, length], int32, by its exclusive prefix sums; the sums of whole lines go to
/// `totals` [lines].
void exclusive_sums(Gpu& gpu, const Array& counts, const Array& totals);

}  // namespace kiln::gpu::family
