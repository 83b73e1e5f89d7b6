// Softmax and cross entropy of contiguous rows, in single precision.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// z = exp(x) / sum(exp(x)), or the logarithm of that if `log`. Sums have as many partial sums as a vector has lanes.
void softmax_rows(const float* x, float* z, std::int64_t rows, std::int64_t count, bool log);
/// The largest element, and the logarithm of sum(exp(x - largest)).
struct PowerSum {
  float largest, log_sum;
};
PowerSum log_sum_exp_of_row(const float* x, std::int64_t count);

}  // namespace kiln::cpu::simd
