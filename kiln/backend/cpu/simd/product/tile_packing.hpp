// Packs the operands of products in the order in which tiles read them. Included once per target.
#if defined(KILN_SIMD_TILE_PACKING_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_TILE_PACKING_HPP
#undef KILN_SIMD_TILE_PACKING_HPP
#else
#define KILN_SIMD_TILE_PACKING_HPP
#endif

#include <algorithm>
#include <limits>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/backend/cpu/simd/product/tile_parts.hpp"
#include "kiln/backend/cpu/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

/// Columns that are packed for one tile after the other: their lines stay in the first-level cache, together with the
/// lines that are prefetched meanwhile, even if the distance of columns is a multiple of 4096 bytes.
constexpr int64_t kColumnsAtOnce = 4;
template <class T>
void pack_left(const T* from, int64_t column, int64_t m, int64_t k, T* to) {
  const int64_t rows = rows_of_tile(m, static_cast<int64_t>(kTileRows<T>));
  for (int64_t p = 0; p < k; p += kColumnsAtOnce) {
    const int64_t columns = std::min(kColumnsAtOnce, k - p);
    for (int64_t i = 0; i < m; i += rows) {
      const T* line = from + p * column + i;
      T* tile = to + i * k + p * rows;
      for (int64_t left = columns; left > 0; --left, line += column, tile += rows) {
        hwy::Prefetch(line + kColumnsAtOnce * column);
        for (int64_t at = 0, count = std::min(rows, m - i); count > 0; at += kWidth<T>, count -= kWidth<T>)
          store_first(load_first(line + at, std::min(count, kWidth<T>)), tile + at, std::min(count, kWidth<T>));
      }
    }
  }
}

// Transposition in registers: squares with sides of 16 bytes, as many side by side as a vector holds.
#if HWY_TARGET == HWY_SCALAR || defined(__SANITIZE_THREAD__)  // with which g++ 12 cannot compile the broadcasts below
template <class T>
constexpr int64_t kSide = std::numeric_limits<int64_t>::max();  // no matrix has squares
template <class T>
HWY_INLINE void turn_squares(const T*, int64_t, T*, int64_t) {}
#else
template <class T>
constexpr int64_t kSide = 16 / sizeof(T);

/// J counts the numbers of a side, B the squares after the first.
template <class T, std::size_t... J, std::size_t... B>
HWY_INLINE void turn_squares(const T* from, int64_t step, T* to, int64_t to_step, Indices<J...>, Indices<B...>) {
  const typename Vector<T>::Tag tag;
  using Numbers = hn::Vec<typename Vector<T>::Tag>;
  constexpr std::size_t side = sizeof...(J), half = side / 2;
  const auto line = [=](std::size_t j) HWY_ATTR {
    Numbers result = hn::LoadDup128(tag, from + static_cast<int64_t>(j) * step);
    ((result = hn::IfThenElse(hn::FirstN(tag, (B + 1) * side), result,
                              hn::LoadDup128(tag, from + static_cast<int64_t>(j + (B + 1) * side) * step))),
     ...);
    return result;
  };
  // The line of a number and its position in the line are the digits of one index: each round rotates the bits of that
  // index by one.
  const auto round = [=](const Numbers(&x)[side], std::size_t j) HWY_ATTR {
    return j % 2 == 0 ? hn::InterleaveLower(tag, x[j / 2], x[j / 2 + half])
                      : hn::InterleaveUpper(tag, x[j / 2], x[j / 2 + half]);
  };
  const Numbers lines[] = {line(J)...}, once[] = {round(lines, J)...};
  if constexpr (side == 2) {
    (hn::StoreU(once[J], tag, to + static_cast<int64_t>(J) * to_step), ...);
  } else {
    static_assert(side == 4);
    (hn::StoreU(round(once, J), tag, to + static_cast<int64_t>(J) * to_step), ...);
  }
}
template <class T>
HWY_INLINE void turn_squares(const T* from, int64_t step, T* to, int64_t to_step) {
  turn_squares(from, step, to, to_step, UpTo<static_cast<std::size_t>(kSide<T>)>(),
               UpTo<static_cast<std::size_t>(kWidth<T> / kSide<T> - 1)>());
}
#endif

template <class T>
void transpose(const T* from, int64_t step, T* to, int64_t to_step, int64_t m, int64_t n) {
  if constexpr (sizeof(T) < 4) {
    Transposer<T>::run(from, step, to, to_step, m, n);
  } else {
    if (m < kWidth<T> || n < kSide<T>) return Transposer<T>::run(from, step, to, to_step, m, n);
    // If the last lines or columns do not fill a square, some lines or columns before them are transposed again.
    for (int64_t i = 0; i < m; i += kWidth<T>)
      for (int64_t j = 0; j < n; j += kSide<T>) {
        const int64_t line = std::min(i, m - kWidth<T>), column = std::min(j, n - kSide<T>);
        turn_squares(from + line * step + column, step, to + column * to_step + line, to_step);
      }
  }
}

}  // namespace
}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
