// Fourier and cosine transforms of any length, and complex numbers as pairs.
//
// A complex tensor is a tensor of floats whose last dimension has size 2: real part, imaginary part. Options that name
// a dimension of a complex tensor do not count the pair: -1 is the one before it. All functions are differentiable to
// any order, with the two parts as independent real numbers. Integers are transformed as float32, halves in float32.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

// ---- pairs ---------------------------------------------------------------------------------------------------------
/// Real and imaginary parts, which broadcast, as pairs along a new last dimension.
Value complex(const Value& real, const Value& imag);
/// magnitude * (cos(angle) + i sin(angle)) as pairs.
Value polar(const Value& magnitude, const Value& angle);
Value real(const Value& z);
Value imag(const Value& z);
/// The magnitude; its gradient at 0 is 0.
Value complex_abs(const Value& z);
/// The angle, in (-pi, pi].
Value angle(const Value& z);
Value conj(const Value& z);
/// The product of complex numbers; the dimensions before the pairs broadcast.
Value complex_mul(const Value& y, const Value& z);

// ---- transforms ----------------------------------------------------------------------------------------------------
/// The transform that has the factor 1 / n: the inverse, both (as 1 / sqrt(n) each), or the forward transform.
enum class FftNorm : std::uint8_t { Backward, Ortho, Forward };

struct FftOptions {
  /// The signal is cropped, or padded with zeros, to this length. For irfft it is the length of the result; the default
  /// is 2 * (m - 1) for a spectrum of m elements.
  std::optional<std::int64_t> n{};
  Dim dim = -1;
  FftNorm norm = FftNorm::Backward;
};

/// Complex to complex: sum over j of x[j] exp(-2 pi i j k / n). ifft has the opposite sign and undoes it.
Value fft(const Value& z, const FftOptions& options = {});
Value ifft(const Value& z, const FftOptions& options = {});
/// [..., n] of real numbers -> the first n / 2 + 1 elements of their spectrum as pairs, [..., n / 2 + 1, 2].
Value rfft(const Value& x, const FftOptions& options = {});
/// Undoes rfft: [..., m, 2] -> [..., n]. Imaginary parts that no real signal has (of element 0, and of element n / 2
/// for even n) are ignored.
Value irfft(const Value& z, const FftOptions& options = {});
/// The transform of a signal whose spectrum is real, and of which the first half is given: [..., m, 2] -> [..., n],
/// like irfft but forwards; the default of n is 2 * (m - 1). ihfft undoes it.
Value hfft(const Value& z, const FftOptions& options = {});
Value ihfft(const Value& x, const FftOptions& options = {});

struct FftnOptions {
  Shape sizes{};  // one for each of dims, as FftOptions::n; empty: unchanged
  Dims dims{};    // empty: all dimensions, or as many of the last ones as there are sizes
  FftNorm norm = FftNorm::Backward;
};
/// Transforms over several dimensions. The real transforms halve the last of `dims`.
Value fftn(const Value& z, const FftnOptions& options = {});
Value ifftn(const Value& z, const FftnOptions& options = {});
Value rfftn(const Value& x, const FftnOptions& options = {});
Value irfftn(const Value& z, const FftnOptions& options = {});
/// Transforms over the last two dimensions unless others are named.
Value fft2(const Value& z, const FftnOptions& options = {});
Value ifft2(const Value& z, const FftnOptions& options = {});
Value rfft2(const Value& x, const FftnOptions& options = {});
Value irfft2(const Value& z, const FftnOptions& options = {});
/// hfft and ihfft over several dimensions; the last of `dims` is halved.
Value hfftn(const Value& z, const FftnOptions& options = {});
Value ihfftn(const Value& x, const FftnOptions& options = {});
Value hfft2(const Value& z, const FftnOptions& options = {});
Value ihfft2(const Value& x, const FftnOptions& options = {});

/// Moves element 0 of each of `dims` to the middle; ifftshift undoes it. `dims` count all dimensions of x; do not name
/// the last one of a complex tensor.
Value fftshift(const Value& x, const Dims& dims);
Value ifftshift(const Value& x, const Dims& dims);

/// The analytic signal of a real one, as pairs: its real part is x, and its spectrum has no negative frequencies.
Value hilbert(const Value& x, const FftOptions& options = {});

// ---- cosine transforms of real signals (types as in Rao and Yip, "Discrete Cosine Transform", 1990) ----------------
struct DctOptions {
  int type = 2;  // 2 or 3
  Dim dim = -1;
  bool ortho = false;  // scaled so that the transform is orthogonal
};
/// Type 2: 2 sum over j of x[j] cos(pi k (2 j + 1) / 2n). Type 3: x[0] + 2 sum over j > 0 of x[j] cos(pi j (2 k + 1) / 2n).
Value dct(const Value& x, const DctOptions& options = {});
/// Undoes dct with the same options.
Value idct(const Value& x, const DctOptions& options = {});

}  // namespace kiln
