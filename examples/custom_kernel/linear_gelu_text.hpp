// The kernel of linear_gelu.hpp as CUDA C++, for float32: for who has such text already. It runs on NVIDIA's GPUs alone.
#pragma once
#include "kiln/backend/gpu/custom.hpp"
#include "kiln/kiln.hpp"

struct LinearGeluText {
  kiln::gpu::TextKernel text() const {
    return {.name = "linear_gelu_text", .text = kText, .buffers = 5, .numbers = 3, .threads = 256};
  }
  static constexpr const char* kText = R"(
extern "C" __global__ void linear_gelu_text(const float* x, const float* w, const float* b, float* y, float* h, int rows,
                                            int depth, int columns) {
  constexpr int kTile = 64, kDepth = 16;
  __shared__ float left[kTile * kDepth], right[kDepth * kTile];
  const int tiles = (columns + kTile - 1) / kTile;
  const int first_row = blockIdx.x / tiles * kTile, first_column = blockIdx.x % tiles * kTile;
  const int own_row = threadIdx.x / 16, own_column = threadIdx.x % 16;
  float sums[4][4] = {};
  for (int from = 0; from < depth; from += kDepth) {
    for (int at = threadIdx.x; at < kTile * kDepth; at += 256) {
      const int row = first_row + at / kDepth, d = from + at % kDepth;
      left[at] = row < rows && d < depth ? x[row * depth + d] : 0;
      const int e = from + at / kTile, column = first_column + at % kTile;
      right[at] = e < depth && column < columns ? w[e * columns + column] : 0;
    }
    __syncthreads();
    for (int d = 0; d < kDepth; ++d)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sums[i][j] += left[(own_row + 16 * i) * kDepth + d] * right[d * kTile + own_column + 16 * j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = first_row + own_row + 16 * i, column = first_column + own_column + 16 * j;
      if (row >= rows || column >= columns) continue;
      const float z = sums[i][j] + b[column];
      h[row * columns + column] = z;
      y[row * columns + column] = 0.5f * z * (1 + tanhf(0.7978845608028654f * (z + 0.044715f * z * z * z)));
    }
}
)";
};
