// Copies numbers from lines into blocks of columns (see fft_columns.hpp), and back.
#pragma once
#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"

namespace kiln::cpu::simd {

/// Copies kColumns lines of complex numbers, which are `step` numbers apart, into a block, or the reverse, and
/// multiplies real and imaginary parts by the factors re and im. Returns how many of the first elements of each line
/// have been copied; the caller copies the rest. `columns` is kColumns or 1.
template <class T>
std::int64_t copy_into_block(const T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im,
                             std::int64_t columns);
template <class T>
std::int64_t copy_out_of_block(Split<T> x, std::int64_t count, T re, T im, T* lines, std::int64_t step,
                               std::int64_t columns);

/// lines[c * step + j] = block[j][c] for the first `width` columns of a block of `rows` rows.
template <class T>
void transpose_block(const T* block, std::int64_t width, std::int64_t rows, T* lines, std::int64_t step);

}  // namespace kiln::cpu::simd
