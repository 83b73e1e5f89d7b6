// The Fourier transform of several lines at once, which are the columns of a block. Each instruction computes all of
// them, so vectors are full whatever the factors of the length are.
#pragma once
#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

namespace kiln::cpu::simd {

/// The number of lines of a block. Element j of line c is element j * kColumns + c of the block.
inline constexpr std::int64_t kColumns = 16;

template <class T>
struct FftKernels {
  /// Transforms the n elements of a block in x. Every pass reads one of x and y and writes the other (Stockham's
  /// ordering: Van Loan, "Computational frameworks for the fast Fourier transform", 1992). Returns the one that holds
  /// the result. The plan must have stages.
  Split<T> (*transform)(const FftPlan<T>& plan, Split<T> x, Split<T> y);
  /// x[j][c] *= w[j * row + c * column] for `rows` rows of kColumns numbers; `column` is 1, or 0 for a factor of a row.
  void (*multiply_twiddles)(Split<T> x, const T* re, const T* im, std::int64_t row, std::int64_t column,
                            std::int64_t rows);
  /// Computes the spectrum of 2n real numbers, n + 1 elements in z, from x, the transform of the n complex numbers that
  /// pairs of them form. `line`: x and z hold a single line instead of a block.
  void (*unfold)(const FftPlan<T>& plan, Split<T> x, Split<T> z, bool line);
  /// Reverses unfold() for the inverse transform: from n + 1 elements to n, times 2.
  void (*fold)(const FftPlan<T>& plan, Split<T> x, Split<T> z, bool line);
  /// Copies kColumns lines of complex numbers, which are `step` numbers apart, into a block, and multiplies real and
  /// imaginary parts by the factors re and im. Returns how many of the first elements of each line have been copied;
  /// the caller copies the rest. `line`: there is a single line.
  std::int64_t (*copy_in)(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im, bool line);
  /// Copies a block to lines in the same way.
  std::int64_t (*copy_out)(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im, bool line);
};

/// Returns the functions for the instruction set of this machine. T is float or double.
template <class T> const FftKernels<T>& fft_kernels();

}  // namespace kiln::cpu::simd
