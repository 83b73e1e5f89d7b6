// The short-time Fourier transform: spectra of overlapping frames. Complex values are pairs, see signal.hpp.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln {

/// The continuation of a signal beyond its ends.
enum class StftPadding : std::uint8_t {
  Reflect,    // the mirror image, without repeating the end itself: c b | a b c
  Constant,   // zeros
  Replicate,  // the last element
  Circular,   // the other end
};

/// Names and meanings are PyTorch's.
struct StftOptions {
  std::int64_t n_fft = 400;
  std::int64_t hop_length = 0;  // elements from frame to frame; 0: n_fft / 4
  std::int64_t win_length = 0;  // 0: n_fft. A shorter window is centred in its frame
  TensorOption window{};        // [win_length]; absent: ones
  bool center = true;           // frame i is centred on element i * hop_length: the signal is continued by n_fft / 2
  StftPadding pad = StftPadding::Reflect;
  bool normalized = false;               // scaled by 1 / sqrt(n_fft)
  bool onesided = true;                  // only the first n_fft / 2 + 1 frequencies; the others are their conjugates
  std::optional<std::int64_t> length{};  // of istft's result; absent: to the end of the last frame
};

/// x [..., time] of real numbers -> [..., frequency, frame, 2]
Value stft(const Value& x, const StftOptions& options);
/// Undoes stft with the same options. Where frames were changed so that they contradict each other, the result is the
/// least squares solution (Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984):
/// [..., frequency, frame, 2] -> [..., time]. An element that no window covers is 0.
Value istft(const Value& z, const StftOptions& options);

}  // namespace kiln
