// Normalises contiguous rows of numbers, which takes row reductions. Computations are in single precision unless stated
// otherwise.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// z = exp(x) / sum(exp(x)), or the logarithm of that if `log`. Sums have as many partial sums as a vector has lanes.
void softmax_rows(const float* x, float* z, std::int64_t rows, std::int64_t count, bool log);
/// The largest element, and the logarithm of sum(exp(x - largest)).
struct PowerSum {
  float largest, log_sum;
};
PowerSum power_sum_of_row(const float* x, std::int64_t count);
/// The parameters of all rows of a layer norm: x becomes (x - mean) / sqrt(variance + epsilon) * weight + bias. If it
/// is not centred, the mean counts as 0, also in the variance.
template <class T>
struct RowNorm {
  const T *weight, *bias;
  T epsilon;
  bool centred = true;
  std::int64_t together = 1;  // how many adjacent numbers have the same weight and bias
};
void layer_norm_rows(const float* x, const RowNorm<float>& norm, float* z, std::int64_t rows, std::int64_t count);
struct RowStatistics {
  double mean, variance;
};
RowStatistics layer_norm_row(const double* x, const RowNorm<double>& norm, double* z, std::int64_t count);

}  // namespace kiln::cpu::simd
