// The Fourier transform of several lines at once, which are the columns of a block. Each instruction computes all of
// them, so vectors are full whatever the factors of the length are.
#pragma once
#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

namespace kiln::cpu::simd {

/// The number of lines of a block. Element j of line c is element j * kColumns + c of the block.
inline constexpr std::int64_t kColumns = 16;

/// Transforms the n elements of a block in x. Every pass reads one of x and y and writes the other (Stockham's
/// ordering: Van Loan, "Computational frameworks for the fast Fourier transform", 1992). Returns the one that holds the
/// result. The plan must have stages.
template <class T>
Split<T> pass_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y);

/// x[j][c] *= w[first + j * step + c] for `rows` rows of kColumns numbers.
template <class T>
void multiply_twiddles_by_column(Split<T> x, const SplitVector<T>& w, std::int64_t first, std::int64_t step,
                                 std::int64_t rows);
/// x[j][c] *= w[j]
template <class T>
void multiply_twiddles_by_row(Split<T> x, const SplitVector<T>& w, std::int64_t rows);

/// Computes the spectrum of 2n real numbers, n + 1 elements in z, from x, the transform of the n complex numbers that
/// pairs of them form. `columns` is kColumns or 1.
template <class T>
void unfold_spectrum(const FftPlan<T>& plan, Split<T> x, Split<T> z, std::int64_t columns);
/// Reverses unfold_spectrum() for the inverse transform: from n + 1 elements to n, times 2.
template <class T>
void fold_spectrum(const FftPlan<T>& plan, Split<T> x, Split<T> z, std::int64_t columns);

}  // namespace kiln::cpu::simd
