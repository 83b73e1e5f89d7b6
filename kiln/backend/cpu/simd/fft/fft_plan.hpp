// The plan of a Fourier transform of one length: the factors and roots of unity that are computed in advance. Plans are
// cached up to a number of bytes.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace kiln::cpu::simd {

/// Complex numbers with their real and imaginary parts in separate arrays.
template <class T>
struct SplitVector {
  std::vector<T> re, im;
  explicit SplitVector(std::int64_t size = 0) : re(static_cast<std::size_t>(size)), im(re.size()) {}
};
template <class T>
struct Split {
  T *re, *im;
  Split at(std::int64_t i) const { return {re + i, im + i}; }
  /// Swaps real and imaginary parts. The forward transform of numbers with swapped parts is the inverse transform.
  Split swapped() const { return {im, re}; }
};

/// One pass of the transform: `parts` butterflies of `radix` numbers each. See fft_columns.hpp.
template <class T>
struct FftStage {
  std::int64_t radix, parts;
  std::vector<T> twiddles;      // the twiddle factors: for each part, radix - 1 complex factors of results 1, 2, ...
  std::vector<T> cosine, sine;  // the cosine and sine of 2 pi i / radix for i < radix
};

template <class T>
struct FftPlan {
  /// If `for_real`, also computes `half_twiddles`, for the transform of 2n real numbers.
  FftPlan(std::int64_t n, bool for_real);

  std::int64_t n;
  std::vector<FftStage<T>> stages;  // empty if a prime factor of n is large
  SplitVector<T> half_twiddles;     // exp(-2 pi i k / 2n) for k in [0, n]

  // A long line is a matrix, n = rows * columns: transform its columns, multiply by `twiddles`, and transform its rows
  // (Bailey, "FFTs in external or hierarchical memory", 1990).
  std::int64_t rows = 0, columns = 0;  // 0: not divided
  std::shared_ptr<const FftPlan> by_row, by_column;
  SplitVector<T> twiddles;  // exp(-2 pi i r c / n) for row r and column c, one block of columns after the other

  // The transform of a length with a large prime factor is a convolution with a chirp (Bluestein, "A linear filtering
  // approach to the computation of the discrete Fourier transform", 1970), computed by transforms of the length of
  // `convolution`.
  std::shared_ptr<const FftPlan> convolution;
  SplitVector<T> chirp, filter;

  /// The number of elements that a buffer for this transform must hold.
  std::int64_t capacity() const { return convolution ? convolution->n : n; }
  std::size_t bytes() const;
};

/// Returns a plan, from the cache if it is there. May be called from any thread.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t n, bool for_real = false);

}  // namespace kiln::cpu::simd
