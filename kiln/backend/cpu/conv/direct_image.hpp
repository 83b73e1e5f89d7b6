// The inner loops for convolutions of few channels (direct.cpp), one image at a time.
//
// In channels-last order the numbers under one row of the kernel are contiguous: kernel width x channels of them, here
// called taps. A pixel of y is a sum of taps times vectors of output channels. The gradient of the weight is a sum over
// pixels of taps times the pixel's vector. Both need one multiply-add per vector and tap.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::conv {

/// Columns of x are padded in memory if needed; rows of padding are left out of the sums.
struct DirectShape {
  std::int64_t rows, columns;      // of y
  std::int64_t x_rows, x_row;      // rows of x, and the distance from one to the next, in numbers
  std::int64_t step;               // the distance from a pixel's taps to the next pixel's: stride x channels of x
  std::int64_t kernel_rows, taps;  // taps of one row of the kernel
  std::int64_t out, out_padded;    // channels of y, a multiple of 8; and of packed weights
  std::int64_t row_stride, row_padding, row_dilation;
};

/// Returns the channels of a packed weight: whole vectors.
constexpr std::int64_t padded_channels(std::int64_t channels) { return channels <= 8 ? 8 : (channels + 15) / 16 * 16; }

struct DirectKernels {
  /// Computes y [rows, columns, out] with weight [kernel_rows, taps, out_padded] and bias [out_padded]. `finish` is the
  /// epilogue, or null.
  void (*forward)(const DirectShape& s, const float* x, const float* weight, const float* bias, float* y,
                  const SimpleEpilogue* finish);
  /// Adds the gradient of the weight to sums [kernel_rows, taps, out_padded].
  void (*weight)(const DirectShape& s, const float* x, const float* y, float* sums);
};
/// The functions for this processor.
const DirectKernels& direct_kernels();

}  // namespace kiln::cpu::conv
