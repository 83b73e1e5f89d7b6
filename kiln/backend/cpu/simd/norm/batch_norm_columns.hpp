// Batch norm in single precision of a dense [rows, channels], in which the channels are contiguous: its statistics are
// column reductions.
#pragma once
#include <cstdint>
#include <vector>

namespace kiln::cpu::simd {

/// The operands besides x.
struct ColumnNorm {
  std::int64_t rows, channels;
  const std::vector<float>& weight;
  double epsilon;
};
/// Computes z, and the mean and variance of each channel.
void batch_norm_columns(const ColumnNorm& norm, const std::vector<float>& bias, const float* x, float* z, float* means,
                        float* variances);
/// Computes the gradients dx, dweight and dbias from the gradient g of z.
void batch_norm_grad_columns(const ColumnNorm& norm, const std::vector<float>& means,
                             const std::vector<float>& variances, const float* g, const float* x, float* dx,
                             float* dweight, float* dbias);

}  // namespace kiln::cpu::simd
