// A few rows by a matrix that lies row by row: memory's affair, so the matrix is read once, as it lies.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kiln/core/half.hpp"

namespace kiln::cpu::simd {

/// What products of T are added up in.
template <class T> using SumOf = std::conditional_t<std::is_same_v<T, BF16> || std::is_same_v<T, F16>, float, T>;

/// The most rows: so many that memory is what they wait for.
template <class T> inline constexpr std::int64_t kMostFewRows = std::is_same_v<T, SumOf<T>> ? 12 : 4;

/// c [m, n] = a [m, k] b [k, n], term by term, for m up to kMostFewRows<T>. Element [i, l] of a lies at
/// a[i * a_row + l * a_column]; rows of b lie b_row apart, those of c c_row.
template <class T>
using FewRows = void (*)(const SumOf<T>* a, std::int64_t a_row, std::int64_t a_column, std::int64_t m, const T* b,
                         std::int64_t b_row, std::int64_t n, std::int64_t k, SumOf<T>* c, std::int64_t c_row);

/// For the machine at hand, T being float, double, BF16 or F16; null where it does not convert T in registers.
template <class T> FewRows<T> few_rows();

}  // namespace kiln::cpu::simd
