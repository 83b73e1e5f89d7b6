// Running sums among threads.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

struct Prefix {
  Expr before;  // the sum of x of all threads before this one
  Expr all;     // the sum of all
};

/// Over the threads of a block, always in the same order. All of them get here.
Prefix prefix_sum(Builder& k, const Expr& x);

/// Replaces each line of `counts` [lines, length], int32, by the sums of what comes before each; the sums of whole lines
/// go to `totals` [lines].
void exclusive_sums(Gpu& gpu, const Array& counts, const Array& totals);

}  // namespace kiln::gpu::family
