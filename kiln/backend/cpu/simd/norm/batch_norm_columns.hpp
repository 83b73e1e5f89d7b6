// Batch norm in single precision where channels lie side by side: [rows, channels], without gaps.
#pragma once
#include <cstdint>
#include <vector>

namespace kiln::cpu::simd {

/// What it is given besides x.
struct ColumnNorm {
  std::int64_t rows, channels;
  const std::vector<float>& weight;
  double epsilon;
};
/// z, and the mean and variance of each channel.
void batch_norm_columns(const ColumnNorm& norm, const std::vector<float>& bias, const float* x, float* z, float* means,
                        float* variances);
/// The gradients dx, dweight and dbias of that, whose own was g.
void batch_norm_grad_columns(const ColumnNorm& norm, const std::vector<float>& means,
                             const std::vector<float>& variances, const float* g, const float* x, float* dx,
                             float* dweight, float* dbias);

}  // namespace kiln::cpu::simd
