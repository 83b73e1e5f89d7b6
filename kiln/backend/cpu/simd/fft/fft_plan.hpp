// What a Fourier transform of one length can compute beforehand: its factors and its roots of unity. Plans are made
// once and kept while there is room.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace kiln::cpu::simd {

/// Numbers with their real and imaginary parts apart.
template <class T>
struct SplitVector {
  std::vector<T> re, im;
  explicit SplitVector(std::int64_t size = 0) : re(static_cast<std::size_t>(size)), im(re.size()) {}
};
template <class T>
struct Split {
  T *re, *im;
  Split at(std::int64_t i) const { return {re + i, im + i}; }
  /// The inverse transform is the forward one of numbers whose parts change places.
  Split swapped() const { return {im, re}; }
};

/// A pass of the transform: `parts` butterflies of `radix` numbers each. See fft_columns.hpp.
template <class T>
struct FftStage {
  std::int64_t radix, parts;
  std::vector<T> turns;         // for each part, radix - 1 pairs: the factors of results 1, 2, ...
  std::vector<T> cosine, sine;  // of 2 pi i / radix
};

template <class T>
struct FftPlan {
  /// `of_real`: also `half_turns`, for the transform of 2n real numbers.
  FftPlan(std::int64_t n, bool of_real);

  std::int64_t n;
  std::vector<FftStage<T>> stages;  // where all prime factors of n are small
  SplitVector<T> half_turns;        // exp(-2 pi i k / 2n) for k in [0, n]

  // A long line is a matrix, n = rows * columns: transform its columns, turn, transform its rows (Bailey, "FFTs in
  // external or hierarchical memory", 1990).
  std::int64_t rows = 0, columns = 0;  // 0: not divided
  std::shared_ptr<const FftPlan> by_row, by_column;
  SplitVector<T> turns;  // exp(-2 pi i r c / n) for row r and column c, a block of columns after the other

  // A length with a large prime factor is a convolution with a chirp (Bluestein, "A linear filtering approach to the
  // computation of the discrete Fourier transform", 1970) of the length of `convolution`.
  std::shared_ptr<const FftPlan> convolution;
  SplitVector<T> chirp, filter;

  /// Elements that a buffer for this transform holds.
  std::int64_t capacity() const { return convolution ? convolution->n : n; }
  std::size_t bytes() const;
};

/// From any thread.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t n, bool of_real = false);

}  // namespace kiln::cpu::simd
