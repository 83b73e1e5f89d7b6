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
  return {cap<T>, softmax<T>, exponentiate<T>, score_gradient<T>, multiply<T>, row_softmax<T>, scale_each_row<T>};
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
