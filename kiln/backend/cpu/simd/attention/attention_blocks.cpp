#include <algorithm>
#include <array>
#include <utility>

#include "kiln/backend/cpu/simd/attention/attention.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/attention/attention_blocks.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using std::int64_t;
template <class T>
constexpr auto kWidth = static_cast<int64_t>(kLanes<T>);

// The sums of a tile of c stay in registers: 24 of the 32 registers of AVX-512, 12 of 16 elsewhere.
constexpr std::size_t kTileVectors = 2, kTileRows = HWY_MAX_BYTES >= 64 ? 12 : 6;

/// Computes a tile of c of `Vectors` vectors in each row; I numbers the vectors row by row.
template <class T, std::size_t Vectors, std::size_t... I>
HWY_INLINE void product_tile(Strided<T> a, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t k, bool add,
                             std::index_sequence<I...>) {
  const auto place = [&](std::size_t i) {
    return c + static_cast<int64_t>(i / Vectors) * c_row + static_cast<int64_t>(i % Vectors) * kWidth<T>;
  };
  Vector<T> sums[] = {(add ? Vector<T>::load(place(I)) : Vector<T>(0))...};
  for (int64_t p = 0; p < k; ++p, b += b_row, a.data += a.column) {
    const Vector<T> row[] = {Vector<T>::load(b), Vector<T>::load(b + (Vectors - 1) * kWidth<T>)};
    ((sums[I] = fma(Vector<T>(a.data[static_cast<int64_t>(I / Vectors) * a.row]), row[I % Vectors], sums[I])), ...);
  }
  (store(sums[I], place(I)), ...);
}

template <class T>
using Tile = void (*)(Strided<T>, const T*, int64_t, T*, int64_t, int64_t, bool);
template <class T, std::size_t Rows, std::size_t Vectors>
void tile(Strided<T> a, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t k, bool add) {
  product_tile<T, Vectors>(a, b, b_row, c, c_row, k, add, std::make_index_sequence<Rows * Vectors>());
}
template <class T, std::size_t Vectors, std::size_t... I>
constexpr std::array<Tile<T>, sizeof...(I)> tiles(std::index_sequence<I...>) {
  return {&tile<T, I + 1, Vectors>...};
}

template <class T>
void product(Strided<T> a, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t m, int64_t n, int64_t k, bool add) {
  static constexpr auto kWide = tiles<T, kTileVectors>(std::make_index_sequence<kTileRows>());
  static constexpr auto kNarrow = tiles<T, 1>(std::make_index_sequence<kTileRows>());
  constexpr auto rows = static_cast<int64_t>(kTileRows), wide = static_cast<int64_t>(kTileVectors) * kWidth<T>;
  for (int64_t j = 0; j < n;) {
    const bool whole = j + wide <= n;
    for (int64_t i = 0; i < m; i += rows) {
      const auto count = static_cast<std::size_t>(std::min(rows, m - i) - 1);
      (whole ? kWide : kNarrow)[count]({a.data + i * a.row, a.row, a.column}, b + j, b_row, c + i * c_row + j, c_row, k,
                                       add);
    }
    j += whole ? wide : kWidth<T>;
  }
}

/// Calls f(place) for every vector of a block.
template <class T, class F>
HWY_INLINE void each_vector(int64_t rows, int64_t lanes, F&& f) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t lane = 0; lane < lanes; lane += kWidth<T>) f(row * kBlockOfQueries + lane, lane);
}

template <class T>
void cap(T* x, T* slopes, int64_t rows, int64_t lanes, T bound) {
  each_vector<T>(rows, lanes, [&](int64_t at, int64_t) {
    const Vector<T> t = tanh(Vector<T>::load(x + at) / Vector<T>(bound));
    store(t * bound, x + at);
    if (slopes) store(1 - t * t, slopes + at);
  });
}

template <class T>
void softmax(T* scores, int64_t rows, int64_t lanes, T* largest, T* total, T* rescale) {
  for (int64_t lane = 0; lane < lanes; lane += kWidth<T>) {
    const Vector<T> before = Vector<T>::load(largest + lane);
    Vector<T> best = before, sum = 0;
    for (int64_t row = 0; row < rows; ++row) best = max(best, Vector<T>::load(scores + row * kBlockOfQueries + lane));
    // A query that has seen no key has a largest score of -inf, and -inf - -inf would be NaN.
    const Vector<T> shift = select(best == -kInfinity<T>, Vector<T>(0), best);
    for (int64_t row = 0; row < rows; ++row) {
      T* at = scores + row * kBlockOfQueries + lane;
      const Vector<T> share = exp(Vector<T>::load(at) - shift);
      store(share, at);
      sum = sum + share;
    }
    const Vector<T> factor = exp(before - shift);
    store(factor, rescale + lane);
    store(fma(Vector<T>::load(total + lane), factor, sum), total + lane);
    store(best, largest + lane);
  }
}

/// Computes the scores of as many rows as I has numbers; the sums of each row are in the lanes of one vector.
template <class T, std::size_t... I>
HWY_INLINE void dot_rows(const T* q, const T* keys, int64_t row, T* scores, int64_t width, std::index_sequence<I...>) {
  Vector<T> sums[] = {((void)I, Vector<T>(0))...};
  int64_t j = 0;
  for (; j + kWidth<T> <= width; j += kWidth<T>)
    ((sums[I] = fma(Vector<T>::load(q + j), Vector<T>::load(keys + static_cast<int64_t>(I) * row + j), sums[I])), ...);
  ((scores[I] = hn::GetLane(hn::SumOfLanes(typename Vector<T>::Tag(), sums[I].lanes))), ...);
  for (; j < width; ++j) ((scores[I] += q[j] * keys[static_cast<int64_t>(I) * row + j]), ...);
}

template <class T>
void row_scores(const T* q, const T* keys, int64_t row, T* scores, int64_t count, int64_t width) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) dot_rows(q, keys + i * row, row, scores + i, width, std::make_index_sequence<8>());
  for (; i < count; ++i) dot_rows(q, keys + i * row, row, scores + i, width, std::make_index_sequence<1>());
}

template <class T>
T row_softmax(T* scores, int64_t count, T& largest, T& total) {
  const typename Vector<T>::Tag tag;
  Vector<T> best = largest, sum = 0;
  for (int64_t i = 0; i < count; i += kWidth<T>) best = max(best, Vector<T>::load(scores + i));
  const T before = largest;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
    const T score = hn::ExtractLane(best.lanes, lane);
    if (!(score <= largest)) largest = score;  // NaN too
  }
  const T shift = largest == -kInfinity<T> ? T{0} : largest;
  for (int64_t i = 0; i < count; i += kWidth<T>) {
    const Vector<T> share = exp(Vector<T>::load(scores + i) - Vector<T>(shift));
    store(share, scores + i);
    sum = sum + share;
  }
  const T rescale = hn::GetLane(exp(Vector<T>(before - shift)).lanes);
  total = total * rescale + hn::GetLane(hn::SumOfLanes(tag, sum.lanes));
  return rescale;
}

template <class T>
void exponentiate(T* scores, int64_t rows, int64_t lanes, const T* shift) {
  each_vector<T>(rows, lanes, [&](int64_t at, int64_t lane) {
    store(exp(Vector<T>::load(scores + at) - Vector<T>::load(shift + lane)), scores + at);
  });
}

template <class T>
void score_gradient(const T* softmax_weights, T* g, int64_t rows, int64_t lanes, const T* delta) {
  each_vector<T>(rows, lanes, [&](int64_t at, int64_t lane) {
    store(Vector<T>::load(softmax_weights + at) * (Vector<T>::load(g + at) - Vector<T>::load(delta + lane)), g + at);
  });
}

template <class T>
void multiply(T* x, const T* y, int64_t rows, int64_t lanes) {
  each_vector<T>(rows, lanes,
                 [&](int64_t at, int64_t) { store(Vector<T>::load(x + at) * Vector<T>::load(y + at), x + at); });
}

template <class T>
void scale_each_row(T* x, int64_t rows, int64_t lanes, const T* factors) {
  for (int64_t row = 0; row < rows; ++row) {
    if (factors[row] == 1) continue;
    const Vector<T> factor = factors[row];
    for (int64_t lane = 0; lane < lanes; lane += kWidth<T>) {
      T* at = x + row * lanes + lane;
      store(Vector<T>::load(at) * factor, at);
    }
  }
}

template <class T>
AttentionBlocks<T> blocks() {
  return {product<T>,  cap<T>,        softmax<T>,     exponentiate<T>,  score_gradient<T>,
          multiply<T>, row_scores<T>, row_softmax<T>, scale_each_row<T>};
}
AttentionBlocks<float> attention_float() { return blocks<float>(); }
AttentionBlocks<double> attention_double() { return blocks<double>(); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(attention_float);
HWY_EXPORT(attention_double);
template <> AttentionBlocks<float> attention_blocks() { return HWY_DYNAMIC_DISPATCH(attention_float)(); }
template <> AttentionBlocks<double> attention_blocks() { return HWY_DYNAMIC_DISPATCH(attention_double)(); }

}  // namespace kiln::cpu::simd
#endif
