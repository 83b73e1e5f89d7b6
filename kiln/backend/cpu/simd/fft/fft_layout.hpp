// How numbers come from where they lie into blocks of columns (see fft_columns.hpp), and back.
#pragma once
#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"

namespace kiln::cpu::simd {

/// A block's numbers from kColumns lines of complex numbers that are `step` apart, or the reverse, times a factor for
/// either part: as many of the first elements of each line as are answered. `columns` is kColumns or 1.
template <class T>
std::int64_t turn_into_block(const T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im,
                             std::int64_t columns);
template <class T>
std::int64_t turn_out_of_block(Split<T> x, std::int64_t count, T re, T im, T* lines, std::int64_t step,
                               std::int64_t columns);

/// lines[c * step + j] = block[j][c] for the first `width` columns of a block of `rows` rows.
template <class T>
void transpose_block(const T* block, std::int64_t width, std::int64_t rows, T* lines, std::int64_t step);

}  // namespace kiln::cpu::simd
