// Normalising one row of numbers, in single precision unless it says otherwise.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// z = exp(x) / sum(exp(x)), or its logarithm. Sums run in as many partial sums as a vector has lanes.
void softmax_row(const float* x, float* z, std::int64_t count, bool log);
/// log(sum(exp(x))) - x[target]
float cross_entropy_row(const float* x, std::int64_t count, std::int64_t target);
/// z = (x - mean) / sqrt(variance + epsilon) * weight + bias
void layer_norm_row(const float* x, const float* weight, const float* bias, float epsilon, float* z,
                    std::int64_t count);
struct RowStatistics {
  double mean, variance;
};
RowStatistics layer_norm_row(const double* x, const double* weight, const double* bias, double epsilon, double* z,
                             std::int64_t count);

}  // namespace kiln::cpu::simd
