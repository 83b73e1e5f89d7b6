// Windows that taper a signal towards its ends, as tensors [size], and the frequencies of a spectrum.
//
// A symmetric window has its peak in the middle of its `size` elements. A periodic one (the default, and right for the
// Fourier analysis of successive frames) is the symmetric window of size + 1 without its last element.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

struct WindowOptions {
  bool periodic = true;
  DType dtype = DType::F32;
};

/// 0.5 - 0.5 cos(2 pi i / (size - 1)), in the symmetric form.
Tensor<1> hann_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// 0.54 - 0.46 cos(...)
Tensor<1> hamming_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// 0.42 - 0.5 cos(...) + 0.08 cos(2 ...)
Tensor<1> blackman_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// A triangle from 0 to 1 and back.
Tensor<1> bartlett_window(std::int64_t size, const Device& device, const WindowOptions& options = {});
/// I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1: a larger beta lowers the side lobes and widens the main lobe.
Tensor<1> kaiser_window(std::int64_t size, double beta, const Device& device, const WindowOptions& options = {});
/// exp(-t^2 / 2) for t in standard deviations (given in elements) from the middle.
Tensor<1> gaussian_window(std::int64_t size, double deviation, const Device& device, const WindowOptions& options = {});

/// The frequencies of the elements of fft, in cycles per unit of `spacing`: 0, 1, ..., -2, -1 over n * spacing.
Tensor<1> fftfreq(std::int64_t n, const Device& device, double spacing = 1, DType dtype = DType::F32);
/// The frequencies of the elements of rfft: 0, 1, ..., n / 2 over n * spacing.
Tensor<1> rfftfreq(std::int64_t n, const Device& device, double spacing = 1, DType dtype = DType::F32);

}  // namespace kiln
