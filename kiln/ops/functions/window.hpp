// Windows that taper a signal towards its ends, as tensors [size].
//
// A symmetric window has its peak in the middle of its `size` elements. A periodic one (the default, and what a Fourier
// analysis of successive frames wants) is the symmetric one of size + 1 without its last element.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct WindowOptions {
  bool periodic = true;
  DType dtype = DType::F32;
};

/// 0.5 - 0.5 cos(2 pi i / (size - 1)), in the symmetric form.
Value hann_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// 0.54 - 0.46 cos(...)
Value hamming_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// 0.42 - 0.5 cos(...) + 0.08 cos(2 ...)
Value blackman_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// A triangle from 0 to 1 and back.
Value bartlett_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1: the larger beta, the lower the side lobes and the wider the
/// main one.
Value kaiser_window(std::int64_t size, double beta, const Device& device, const WindowOptions& options = {});
/// exp(-t^2 / 2) for t in standard deviations (given in elements) from the middle.
Value gaussian_window(std::int64_t size, double deviation, const Device& device, const WindowOptions& options = {});

}  // namespace kiln
