// Fourier and cosine transforms and complex numbers as pairs: a complex tensor of D dimensions is a Tensor<D + 1> whose
// last dimension has size 2. kiln/ops/signal/signal.hpp describes the options.
#pragma once
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/signal/stft.hpp"
#include "kiln/tensor/tensor.hpp"
#include "kiln/tensor/window.hpp"

namespace kiln {

// ---- pairs ---------------------------------------------------------------------------------------------------------
template <int D>
Tensor<D + 1> complex(const Tensor<D>& real, const Tensor<D>& imag) {
  return Typed{complex(real.value(), imag.value())};
}
/// magnitude * (cos(angle) + i sin(angle))
template <int D>
Tensor<D + 1> polar(const Tensor<D>& magnitude, const Tensor<D>& angle) {
  return Typed{polar(magnitude.value(), angle.value())};
}
template <int D>
Tensor<D - 1> real(const Tensor<D>& z) {
  return Typed{real(z.value())};
}
template <int D>
Tensor<D - 1> imag(const Tensor<D>& z) {
  return Typed{imag(z.value())};
}
/// The magnitude.
template <int D>
Tensor<D - 1> complex_abs(const Tensor<D>& z) {
  return Typed{complex_abs(z.value())};
}
template <int D>
Tensor<D - 1> angle(const Tensor<D>& z) {
  return Typed{angle(z.value())};
}
template <int D>
Tensor<D> conj(const Tensor<D>& z) {
  return Typed{conj(z.value())};
}
template <int D, int E>
Tensor<(D < E ? E : D)> complex_mul(const Tensor<D>& y, const Tensor<E>& z) {
  return Typed{complex_mul(y.value(), z.value())};
}

// ---- transforms ----------------------------------------------------------------------------------------------------
#define KILN_TRANSFORM(function, Options, Rank)                            \
  template <int D>                                                         \
  Tensor<Rank> function(const Tensor<D>& x, const Options& options = {}) { \
    return Typed{function(x.value(), options)};                            \
  }
KILN_TRANSFORM(fft, FftOptions, D)
KILN_TRANSFORM(ifft, FftOptions, D)
KILN_TRANSFORM(rfft, FftOptions, D + 1)
KILN_TRANSFORM(irfft, FftOptions, D - 1)
KILN_TRANSFORM(fft2, FftnOptions, D)
KILN_TRANSFORM(ifft2, FftnOptions, D)
KILN_TRANSFORM(rfft2, FftnOptions, D + 1)
KILN_TRANSFORM(irfft2, FftnOptions, D - 1)
KILN_TRANSFORM(fftn, FftnOptions, D)
KILN_TRANSFORM(ifftn, FftnOptions, D)
KILN_TRANSFORM(rfftn, FftnOptions, D + 1)
KILN_TRANSFORM(irfftn, FftnOptions, D - 1)
KILN_TRANSFORM(hfft, FftOptions, D - 1)
KILN_TRANSFORM(ihfft, FftOptions, D + 1)
KILN_TRANSFORM(hfft2, FftnOptions, D - 1)
KILN_TRANSFORM(ihfft2, FftnOptions, D + 1)
KILN_TRANSFORM(hfftn, FftnOptions, D - 1)
KILN_TRANSFORM(ihfftn, FftnOptions, D + 1)
KILN_TRANSFORM(hilbert, FftOptions, D + 1)
KILN_TRANSFORM(dct, DctOptions, D)
KILN_TRANSFORM(idct, DctOptions, D)
#undef KILN_TRANSFORM

/// fftshift(x, 0, 1): element 0 of these dimensions moves to the middle.
template <int D, class K, Integer... Dim>
Tensor<D, K> fftshift(const Tensor<D, K>& x, Dim... dims) {
  static_assert(sizeof...(Dim) > 0, "fftshift: name the dimensions to shift");
  return Typed{fftshift(x.value(), Dims{dims...})};
}
template <int D, class K, Integer... Dim>
Tensor<D, K> ifftshift(const Tensor<D, K>& x, Dim... dims) {
  static_assert(sizeof...(Dim) > 0, "ifftshift: name the dimensions to shift");
  return Typed{ifftshift(x.value(), Dims{dims...})};
}

/// x [..., time] -> [..., frequency, frame, 2]: stft(x, {.n_fft = 512, .window = hann_window(512, device)})
template <int D>
Tensor<D + 2> stft(const Tensor<D>& x, const StftOptions& options) {
  return Typed{stft(x.value(), options)};
}
template <int D>
Tensor<D - 2> istft(const Tensor<D>& z, const StftOptions& options) {
  return Typed{istft(z.value(), options)};
}

}  // namespace kiln
