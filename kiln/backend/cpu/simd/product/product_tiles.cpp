#include "kiln/backend/cpu/simd/product/product_tiles.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/product_tiles.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/product/tile_packing.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

// ---- tiles of sums --------------------------------------------------------------------------------------------------

template <class T>
struct TileCall {
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  std::span<const ProductRun> runs;
  bool add;
  int64_t last;  // the numbers of the last vector, if it is partial
  const T *b_ahead, *c_ahead;
  int64_t b_ahead_row, c_ahead_row;
  int64_t chunk;    // the terms after which a row of each operand is prefetched
  int64_t a_ahead;  // the distance from the rows of a to those of the next tile, which are prefetched too; or 0
  T* aside;         // where to store the rows of b as a panel
  ProductTail<T> tail;
};

template <class T>
constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));

enum class Columns { Whole, Kept, Partial };

/// Vector `V` of a row of vectors. In a partial tile the last vector has `count` numbers.
template <class T, std::size_t Vectors, Columns Kind, std::size_t V>
HWY_INLINE Vector<T> load_vector(const T* from, int64_t count) {
  if constexpr (Kind == Columns::Partial && V + 1 == Vectors) return load_first(from, count);
  else return Vector<T>::load(from);
}
template <class T, std::size_t Vectors, Columns Kind, std::size_t V>
HWY_INLINE void store_vector(Vector<T> x, T* to, int64_t count) {
  if constexpr (Kind == Columns::Partial && V + 1 == Vectors) store_first(x, to, count);
  else store(x, to);
}

/// Applies a tail to sums.
template <class T, std::size_t Vectors, Columns Kind, std::size_t... I>
HWY_INLINE void apply_tail(const ProductTail<T>& tail, Vector<T>* sums, int64_t last, Indices<I...>) {
  constexpr auto column = [](std::size_t i) { return static_cast<int64_t>(i % Vectors) * kWidth<T>; };
  constexpr auto row = [](std::size_t i) { return static_cast<int64_t>(i / Vectors); };
  if (tail.bias) ((sums[I] = sums[I] + load_vector<T, Vectors, Kind, I % Vectors>(tail.bias + column(I), last)), ...);
  if constexpr (std::is_same_v<T, float>) {
    if (tail.more)
      ((sums[I] =
            sums[I] + load_vector<T, Vectors, Kind, I % Vectors>(tail.more + row(I) * tail.more_row + column(I), last)),
       ...);
    if (!tail.has_bounds) return;
    const Vector<T> low(tail.low), high(tail.high);
    ((sums[I] = clamp(sums[I], low, high)), ...);
  }
}

/// I counts the sums row by row, R the rows, J every third row (a pointer reaches three), V the vectors of a row.
template <class T, std::size_t Vectors, Columns Kind, std::size_t... I, std::size_t... R, std::size_t... J,
          std::size_t... V>
HWY_INLINE void tile(const TileCall<T>& call, Indices<I...>, Indices<R...>, Indices<J...>, Indices<V...>) {
  const int64_t a_row = call.a_row, a_column = call.a_column, b_row = call.b_row, c_row = call.c_row, last = call.last;
  const bool add = call.add;
  T* const c = call.c;
  const auto place = [&](std::size_t i) HWY_ATTR {
    return c + static_cast<int64_t>(i / Vectors) * c_row + static_cast<int64_t>(i % Vectors) * kWidth<T>;
  };
  T* aside = call.aside;
  Vector<T> sums[] = {((void)I, Vector<T>(0))...};
  constexpr int64_t kRows = sizeof...(I) / Vectors;
  const T *b_ahead = call.b_ahead, *c_ahead = call.c_ahead;
  const int64_t chunk = call.chunk;
  for (const auto& [a_begin, b_begin, count] : call.runs) {
    const T* b = call.b + b_begin;
    const T* line[] = {call.a + a_begin * a_column + static_cast<int64_t>(3 * J) * a_row...};
    for (int64_t left = count; left > 0; left -= chunk) {
      if constexpr (Vectors == kVectors) {
        if (b_ahead) {
          hwy::Prefetch(c_ahead);
          hwy::Prefetch(c_ahead + kWidth<T>);
          hwy::Prefetch(c_ahead + kPanel<T> - 1);
          hwy::Prefetch(b_ahead + kWidth<T> - 1);
          hwy::Prefetch(b_ahead + kPanel<T> - 1);
          c_ahead += call.c_ahead_row;
          b_ahead += call.b_ahead_row;
        }
      }
      if (call.a_ahead && (count - left) % kLine<T> < chunk)
        (hwy::Prefetch(line[R / 3] + static_cast<int64_t>(R % 3) * a_row + call.a_ahead), ...);
      for (int64_t p = std::min(chunk, left); p > 0; --p, b += b_row) {
        const Vector<T> row[] = {load_vector<T, Vectors, Kind, V>(b + static_cast<int64_t>(V) * kWidth<T>, last)...};
        if constexpr (Vectors > kVectors && kRows > 1)  // prefetches what the next tile reads
          (hwy::Prefetch(b + static_cast<int64_t>(Vectors + V) * kWidth<T>), ...);
        if constexpr (Kind == Columns::Kept) {
          hwy::Prefetch(b + kRowsAhead * b_row);
          hwy::Prefetch(b + kRowsAhead * b_row + kWidth<T>);
          (store(row[V], aside + static_cast<int64_t>(V) * kWidth<T>), ...);
          aside += kPanel<T>;
        }
        ((sums[I] = fma(Vector<T>(line[I / Vectors / 3][static_cast<int64_t>(I / Vectors % 3) * a_row]),
                        row[I % Vectors], sums[I])),
         ...);
        ((line[J] += a_column), ...);
      }
    }
  }
  if (add) ((sums[I] = load_vector<T, Vectors, Kind, I % Vectors>(place(I), last) + sums[I]), ...);
  apply_tail<T, Vectors, Kind>(call.tail, sums, last, Indices<I...>());
  (store_vector<T, Vectors, Kind, I % Vectors>(sums[I], place(I), last), ...);
}

template <class T>
using Tile = void (*)(const TileCall<T>&);
template <class T, std::size_t Rows, std::size_t Vectors, Columns Kind>
void run_tile(const TileCall<T>& call) {
  tile<T, Vectors, Kind>(call, UpTo<Rows * Vectors>(), UpTo<Rows>(), UpTo<(Rows + 2) / 3>(), UpTo<Vectors>());
}

/// Dispatches by the number of rows.
template <class T>
struct Tiles {
  Tile<T> wide, panel, kept, part_of_panel, part_of_vector;
};
template <class T, std::size_t... I>
constexpr std::array<Tiles<T>, sizeof...(I)> tiles_of_rows(Indices<I...>) {
  return {{{run_tile<T, I + 1, wide(I + 1), Columns::Whole>, run_tile<T, I + 1, kVectors, Columns::Whole>,
            run_tile<T, I + 1, kVectors, Columns::Kept>, run_tile<T, I + 1, kVectors, Columns::Partial>,
            run_tile<T, I + 1, 1, Columns::Partial>}...}};
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

template <class T>
void multiply(const LeftOperand<T>& a, const RightOperand<T>& b, const ResultBlock<T>& c, int64_t m, int64_t n,
              int64_t k, bool add, T* aside) {
  static constexpr auto kTiles = tiles_of_rows<T>(UpTo<kTileRows<T>>());
  const int64_t rows = rows_of_tile(m, static_cast<int64_t>(kTileRows<T>));
  const Tiles<T>& tiles = kTiles[static_cast<std::size_t>(rows - 1)];
  const bool transposes = b.column != 1, scattered = !transposes && b.row != kPanel<T>;
  const int64_t widest =
      transposes || m > rows ? n + 1 : static_cast<int64_t>(wide(static_cast<std::size_t>(rows))) * kWidth<T>;
  const ProductRun all{0, 0, k};
  TileCall<T> call{a.data, a.row,   a.column, b.data, b.row,       c.data, c.row, {&all, 1}, add,
                   0,      nullptr, nullptr,  0,      c.ahead_row, 0,      0,     aside,     c.tail};
  for (int64_t j = 0; j < n;) {
    const int64_t left = n - j;
    if (transposes && j % kPanel<T> == 0)
      transpose(b.data + j * b.column, b.column, aside, kPanel<T>, std::min(left, kPanel<T>), k);
    call.a = a.data;
    call.b = transposes ? aside + j % kPanel<T> : b.data + j;
    call.b_row = transposes ? kPanel<T> : b.row;
    call.c = c.data + j;
    if (c.tail.bias) call.tail.bias = c.tail.bias + j;
    if (c.tail.more) call.tail.more = c.tail.more + j;
    Tile<T> Tiles<T>::* kind = left > kWidth<T> ? &Tiles<T>::part_of_panel : &Tiles<T>::part_of_vector;
    int64_t width = std::min(left, kPanel<T>), i = 0;
    call.last = (width - 1) % kWidth<T> + 1;
    if (left >= widest) kind = &Tiles<T>::wide, width = widest;
    else if (left >= kPanel<T>) kind = &Tiles<T>::panel;
    const bool fetches = scattered && left >= 2 * kPanel<T>;
    call.b_ahead = fetches ? call.b + kPanel<T> : c.data;
    call.b_ahead_row = fetches ? b.row : 0;
    // Each tile prefetches the rows of the next tile's sums, and all tiles of a panel together prefetch the next panel.
    call.chunk = std::clamp<int64_t>(fetches ? std::min(k, m) / rows : k / rows, 1, kLine<T>);
    const int64_t steps_ahead = divide_up(k, call.chunk);
    const auto next = [&](Tile<T> tile) {
      const int64_t after = i + rows;
      call.c_ahead = after < m ? c.ahead + after * c.ahead_row + j : c.ahead + j + width;
      call.a_ahead = a.far && j == 0 ? a.tile : 0;
      tile(call);
      call.a += a.tile;
      call.b_ahead += steps_ahead * call.b_ahead_row;
      call.c += rows * c.row;
      if (c.tail.more) call.tail.more += rows * c.tail.more_row;
    };
    if (kind == &Tiles<T>::panel && scattered && m > rows) {
      next(tiles.kept);
      i = rows;
      call.b = aside;
      call.b_row = kPanel<T>;
    }
    for (; i + rows <= m; i += rows) next(tiles.*kind);
    if (i < m) next(kTiles[static_cast<std::size_t>(m - i - 1)].*kind);
    j += width;
  }
}

template <class T>
void multiply_runs(const LeftOperand<T>& a, const RightOperand<T>& b, const ResultBlock<T>& c, int64_t m, int64_t n,
                   std::span<const ProductRun> runs, bool add) {
  static constexpr auto kTiles = tiles_of_rows<T>(UpTo<kTileRows<T>>());
  const int64_t rows = rows_of_tile(m, static_cast<int64_t>(kTileRows<T>));
  TileCall<T> call{a.data, a.row,   a.column, b.data, b.row, c.data,   c.row, runs,    add,
                   0,      nullptr, nullptr,  0,      0,     kLine<T>, 0,     nullptr, c.tail};
  for (int64_t j = 0; j < n; j += kPanel<T>) {
    const int64_t left = n - j;
    Tile<T> Tiles<T>::* const kind = left >= kPanel<T>  ? &Tiles<T>::panel
                                     : left > kWidth<T> ? &Tiles<T>::part_of_panel
                                                        : &Tiles<T>::part_of_vector;
    call.last = (std::min(left, kPanel<T>) - 1) % kWidth<T> + 1;
    call.b = b.data + j;
    if (c.tail.bias) call.tail.bias = c.tail.bias + j;
    for (int64_t i = 0, tile = 0; i < m; i += rows, ++tile) {
      call.a = a.data + tile * a.tile;
      call.c = c.data + i * c.row + j;
      if (c.tail.more) call.tail.more = c.tail.more + i * c.tail.more_row + j;
      (kTiles[static_cast<std::size_t>(std::min(rows, m - i) - 1)].*kind)(call);
    }
  }
}

template <class T>
constexpr ProductTiles<T> kTiles{
    static_cast<int64_t>(kTileRows<T>), kPanel<T>, multiply<T>, multiply_runs<T>, pack_left<T>, transpose<T>};

}  // namespace

const ProductTiles<float>& tiles_float() { return kTiles<float>; }
const ProductTiles<double>& tiles_double() { return kTiles<double>; }
const ProductTiles<std::int16_t>& tiles_int16() { return kTiles<std::int16_t>; }
const ProductTiles<std::int32_t>& tiles_int32() { return kTiles<std::int32_t>; }
const ProductTiles<int64_t>& tiles_int64() { return kTiles<int64_t>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(tiles_float);
HWY_EXPORT(tiles_double);
HWY_EXPORT(tiles_int16);
HWY_EXPORT(tiles_int32);
HWY_EXPORT(tiles_int64);
template <> const ProductTiles<float>& product_tiles() { return HWY_DYNAMIC_DISPATCH(tiles_float)(); }
template <> const ProductTiles<double>& product_tiles() { return HWY_DYNAMIC_DISPATCH(tiles_double)(); }
template <> const ProductTiles<std::int16_t>& product_tiles() { return HWY_DYNAMIC_DISPATCH(tiles_int16)(); }
template <> const ProductTiles<std::int32_t>& product_tiles() { return HWY_DYNAMIC_DISPATCH(tiles_int32)(); }
template <> const ProductTiles<std::int64_t>& product_tiles() { return HWY_DYNAMIC_DISPATCH(tiles_int64)(); }

}  // namespace kiln::cpu::simd
#endif
