// A few rows times a matrix stored row by row. Memory bandwidth limits this, so the matrix is read once, in place.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kiln/core/half.hpp"

namespace kiln::cpu::simd {

/// The type of the sums of products of T.
template <class T> using SumOf = std::conditional_t<std::is_same_v<T, BF16> || std::is_same_v<T, F16>, float, T>;

/// The most rows for which memory bandwidth is the limit.
template <class T> inline constexpr std::int64_t kMostFewRows = std::is_same_v<T, SumOf<T>> ? 12 : 4;

/// Computes c [m, n] = a [m, k] b [k, n], term by term, for m up to kMostFewRows<T>. Element [i, l] of a is at a[i *
/// a_row + l * a_column]; rows of b are b_row apart, and rows of c c_row.
template <class T>
using FewRows = void (*)(const SumOf<T>* a, std::int64_t a_row, std::int64_t a_column, std::int64_t m, const T* b,
                         std::int64_t b_row, std::int64_t n, std::int64_t k, SumOf<T>* c, std::int64_t c_row);

/// The kernel for this processor. T is float, double, BF16 or F16; null if it does not convert T in registers.
template <class T> FewRows<T> few_rows();

}  // namespace kiln::cpu::simd
