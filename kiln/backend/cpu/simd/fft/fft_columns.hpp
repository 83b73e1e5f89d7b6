// The Fourier transform of several lines side by side, so that each instruction does the same for all of them and a
// length of any factors fills the vectors.
#pragma once
#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

namespace kiln::cpu::simd {

/// How many lines: element j of line c is element j * kColumns + c of a block.
inline constexpr std::int64_t kColumns = 16;

/// Transforms the n elements of a block in x. Every pass reads one of x and y and writes the other (Stockham's
/// ordering, as in Van Loan, "Computational frameworks for the fast Fourier transform", 1992); the one that holds the
/// result is returned. The plan must have stages.
template <class T>
Split<T> pass_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y);

/// x[j][c] *= w[j * step + c] for `rows` rows of kColumns numbers.
template <class T>
void turn_columns(Split<T> x, const SplitVector<T>& w, std::int64_t first, std::int64_t step, std::int64_t rows);
/// x[j][c] *= w[j]
template <class T>
void turn_rows(Split<T> x, const SplitVector<T>& w, std::int64_t rows);

/// The spectrum of 2n real numbers, of which two were taken for one complex number: from the transform x of these, n
/// elements, to z, n + 1. `columns` is kColumns or 1.
template <class T>
void unfold_spectrum(const FftPlan<T>& plan, Split<T> x, Split<T> z, std::int64_t columns);
/// The reverse for the inverse transform, twice as large: from n + 1 elements to n.
template <class T>
void fold_spectrum(const FftPlan<T>& plan, Split<T> x, Split<T> z, std::int64_t columns);

}  // namespace kiln::cpu::simd
