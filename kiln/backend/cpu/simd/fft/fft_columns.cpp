#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/fft/fft_columns.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <class T>
struct Complex {
  Vector<T> re, im;
  friend HWY_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend HWY_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend HWY_INLINE Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, fma(a.re, b.im, a.im * b.re)};
  }
  /// Returns -i times this number.
  HWY_INLINE Complex quarter() const { return {im, -re}; }
};
template <class T>
HWY_INLINE Complex<T> load(Split<T> from) {
  return {Vector<T>::load(from.re), Vector<T>::load(from.im)};
}
template <class T>
HWY_INLINE void store(Complex<T> value, Split<T> to) {
  store(value.re, to.re);
  store(value.im, to.im);
}
template <class T>
HWY_INLINE Complex<T> same(T re, T im) {
  return {Vector<T>(re), Vector<T>(im)};
}

/// Transforms of 2, 4 and 8 numbers, in place.
template <class T>
HWY_INLINE void butterfly_2(Complex<T>* a) {
  const Complex<T> sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}
template <class T>
HWY_INLINE void butterfly_4(Complex<T>* a) {
  const Complex<T> even = a[0] + a[2], even_difference = a[0] - a[2], odd = a[1] + a[3];
  const Complex<T> odd_difference = (a[1] - a[3]).quarter();
  a[0] = even + odd;
  a[1] = even_difference + odd_difference;
  a[2] = even - odd;
  a[3] = even_difference - odd_difference;
}
template <class T>
HWY_INLINE void butterfly_8(Complex<T>* a) {
  Complex<T> even[] = {a[0], a[2], a[4], a[6]}, odd[] = {a[1], a[3], a[5], a[7]};
  butterfly_4(even);
  butterfly_4(odd);
  const Vector<T> half = static_cast<T>(std::numbers::sqrt2 / 2);
  odd[1] = {(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
  odd[2] = odd[2].quarter();
  odd[3] = {(odd[3].im - odd[3].re) * half, (odd[3].re + odd[3].im) * -half};
  for (int k = 0; k < 4; ++k) {
    a[k] = even[k] + odd[k];
    a[k + 4] = even[k] - odd[k];
  }
}
/// Transforms an odd number of numbers, in place. Numbers j and radix - j are combined first, as their factors are
/// conjugate.
template <class T>
HWY_INLINE void butterfly_odd(Complex<T>* a, std::int64_t radix, const T* cosine, const T* sine) {
  const std::int64_t half = radix / 2;
  for (std::int64_t j = 1; j <= half; ++j) {
    const Complex<T> sum = a[j] + a[radix - j];
    a[radix - j] = a[j] - a[radix - j];
    a[j] = sum;
  }
  Complex<T> results[31];
  results[0] = a[0];
  for (std::int64_t j = 1; j <= half; ++j) results[0] = results[0] + a[j];
  for (std::int64_t k = 1; k <= half; ++k) {
    Complex<T> even = a[0], odd = same<T>(0, 0);
    for (std::int64_t j = 1, at = k; j <= half; ++j, at = (at + k) % radix) {
      const Vector<T> c = cosine[at], s = sine[at];
      even = {fma(c, a[j].re, even.re), fma(c, a[j].im, even.im)};
      odd = {fma(s, a[radix - j].re, odd.re), fma(s, a[radix - j].im, odd.im)};
    }
    results[k] = even + odd.quarter();
    results[radix - k] = even - odd.quarter();
  }
  for (std::int64_t k = 0; k < radix; ++k) a[k] = results[k];
}

/// One pass. The numbers that a butterfly reads in neighbouring parts are `stride` apart. If kRadix is 0, the radix is
/// that of the stage.
template <int kRadix, class T>
HWY_INLINE void pass(const FftStage<T>& stage, std::int64_t stride, Split<T> x, Split<T> y) {
  const std::int64_t radix = kRadix ? kRadix : stage.radix, parts = stage.parts;
  const T *cosine = stage.cosine.data(), *sine = stage.sine.data();
  Complex<T> a[kRadix ? kRadix : 31];
  for (std::int64_t p = 0; p < parts; ++p) {
    const T* twiddles = stage.twiddles.data() + p * 2 * (radix - 1);
    for (std::int64_t q = 0; q < stride; q += static_cast<std::int64_t>(kLanes<T>)) {
      for (std::int64_t k = 0; k < radix; ++k) a[k] = load(x.at(q + stride * (p + parts * k)));
      if constexpr (kRadix == 2) butterfly_2(a);
      else if constexpr (kRadix == 4) butterfly_4(a);
      else if constexpr (kRadix == 8) butterfly_8(a);
      else butterfly_odd(a, radix, cosine, sine);
      store(a[0], y.at(q + stride * radix * p));
      for (std::int64_t k = 1; k < radix; ++k)
        store(a[k] * same(twiddles[2 * k - 2], twiddles[2 * k - 1]), y.at(q + stride * (radix * p + k)));
    }
  }
}

template <class T>
Split<T> passes(const FftPlan<T>& plan, Split<T> x, Split<T> y) {
  std::int64_t stride = kColumns;
  for (const FftStage<T>& stage : plan.stages) {
    switch (stage.radix) {
      case 2: pass<2>(stage, stride, x, y); break;
      case 3: pass<3>(stage, stride, x, y); break;
      case 4: pass<4>(stage, stride, x, y); break;
      case 5: pass<5>(stage, stride, x, y); break;
      case 7: pass<7>(stage, stride, x, y); break;
      case 8: pass<8>(stage, stride, x, y); break;
      default: pass<0>(stage, stride, x, y); break;
    }
    stride *= stage.radix;
    std::swap(x, y);
  }
  return x;
}

/// x[j * kColumns + c] *= w[j * row + c * column]
template <class T>
void turn_block(Split<T> x, const T* re, const T* im, std::int64_t row, std::int64_t column, std::int64_t rows) {
  for (std::int64_t j = 0; j < rows; ++j)
    for (std::int64_t c = 0; c < kColumns; c += static_cast<std::int64_t>(kLanes<T>)) {
      const T *r = re + j * row + c * column, *i = im + j * row + c * column;
      const Complex<T> w = column ? Complex<T>{Vector<T>::load(r), Vector<T>::load(i)} : same(*r, *i);
      const Split<T> at = x.at(j * kColumns + c);
      store(load(at) * w, at);
    }
}

/// out = combine(a, b, w[k]) for one element of all lines of a block, or of a single line.
template <std::int64_t kWidth, class T, class Combine>
HWY_INLINE void combine_row(Split<T> a, Split<T> b, const SplitVector<T>& w, std::int64_t k, Split<T> out,
                            Combine combine) {
  struct Number {
    T re, im;
  };
  const T re = w.re[static_cast<std::size_t>(k)], im = w.im[static_cast<std::size_t>(k)];
  if constexpr (kWidth == 1) {
    const Number result = combine(Number{*a.re, *a.im}, Number{*b.re, *b.im}, Number{re, im});
    *out.re = result.re;
    *out.im = result.im;
  } else {
    for (std::int64_t c = 0; c < kWidth; c += static_cast<std::int64_t>(kLanes<T>))
      store(combine(load(a.at(c)), load(b.at(c)), same(re, im)), out.at(c));
  }
}

template <std::int64_t kWidth, class T>
HWY_INLINE void unfold_each(const FftPlan<T>& plan, Split<T> x, Split<T> z) {
  const std::int64_t n = plan.n;
  for (std::int64_t k = 0; k <= n; ++k)
    combine_row<kWidth>(x.at(k < n ? k * kWidth : 0), x.at(k > 0 ? (n - k) * kWidth : 0), plan.half_twiddles, k,
                        z.at(k * kWidth), [](auto a, auto b, auto w) HWY_ATTR -> decltype(a) {
                          // The spectrum of the even elements, and i times that of the odd ones.
                          const auto even_re = (a.re + b.re) * T{0.5}, even_im = (a.im - b.im) * T{0.5};
                          const auto odd_re = (a.re - b.re) * T{0.5}, odd_im = (a.im + b.im) * T{0.5};
                          return {even_re + (odd_im * w.re + odd_re * w.im), even_im + (odd_im * w.im - odd_re * w.re)};
                        });
}
template <std::int64_t kWidth, class T>
HWY_INLINE void fold_each(const FftPlan<T>& plan, Split<T> x, Split<T> z) {
  const std::int64_t n = plan.n;
  for (std::int64_t k = 0; k < n; ++k)
    combine_row<kWidth>(x.at(k * kWidth), x.at((n - k) * kWidth), plan.half_twiddles, k, z.at(k * kWidth),
                        [](auto a, auto b, auto w) HWY_ATTR -> decltype(a) {
                          const auto even_re = a.re + b.re, even_im = a.im - b.im;
                          const auto odd_re = a.re - b.re, odd_im = a.im + b.im;
                          return {even_re - (odd_im * w.re - odd_re * w.im), even_im + (odd_re * w.re + odd_im * w.im)};
                        });
}
template <class T>
void unfold(const FftPlan<T>& plan, Split<T> x, Split<T> z, bool line) {
  line ? unfold_each<1>(plan, x, z) : unfold_each<kColumns>(plan, x, z);
}
template <class T>
void fold(const FftPlan<T>& plan, Split<T> x, Split<T> z, bool line) {
  line ? fold_each<1>(plan, x, z) : fold_each<kColumns>(plan, x, z);
}

// ---- lines and blocks -----------------------------------------------------------------------------------------------

/// Interleaves the lanes of a and b, from lane kFirst on.
template <int kFirst, class Lanes, int... I>
HWY_INLINE Lanes interleave(Lanes a, Lanes b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (kFirst + I / 2 + I % 2 * static_cast<int>(sizeof...(I)))...);
}
/// Transposes a square matrix whose rows are vectors.
template <class T>
HWY_INLINE void transpose_square(Vector<T>* rows) {
  constexpr int kSide = static_cast<int>(kLanes<T>);
  typedef T Lanes __attribute__((vector_size(kSide * sizeof(T))));  // compilers shuffle these
  constexpr auto places = std::make_integer_sequence<int, kSide>();
  Lanes now[kSide], next[kSide];
  for (int i = 0; i < kSide; ++i) std::memcpy(&now[i], &rows[i], sizeof(Lanes));
  // Take a number's row and lane as one index: each interleaving rotates the bits of that index by one.
  for (int turned = 1; turned < kSide; turned *= 2) {
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave<0>(now[i], now[i + kSide / 2], places);
      next[2 * i + 1] = interleave<kSide / 2>(now[i], now[i + kSide / 2], places);
    }
    for (int i = 0; i < kSide; ++i) now[i] = next[i];
  }
  // In Highway's emulated targets a vector is a class with initialisers, for which compilers warn of memcpy.
  for (int i = 0; i < kSide; ++i) std::memcpy(static_cast<void*>(&rows[i]), &now[i], sizeof(Lanes));
}

/// Transposes lines into the block if `into`, otherwise the block into lines, in squares of kLanes lines and half as
/// many complex elements. Returns how many elements of each line have been copied.
template <bool into, class T>
HWY_INLINE std::int64_t transpose_lines(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im) {
  constexpr auto kSide = static_cast<std::int64_t>(kLanes<T>), kPairs = kSide / 2;
  if constexpr (kSide < 2 || kColumns % kSide != 0) return 0;
  const Vector<T> factors[] = {re, im};
  Vector<T> square[kSide];
  std::int64_t j = 0;
  for (; j + kPairs <= count; j += kPairs)
    for (std::int64_t c = 0; c < kColumns; c += kSide) {
      T* const from = lines + c * step + 2 * j;
      const auto place = [&](std::int64_t i) { return (i % 2 ? x.im : x.re) + (j + i / 2) * kColumns + c; };
      for (std::int64_t i = 0; i < kSide; ++i)
        square[i] = into ? Vector<T>::load(from + i * step) : Vector<T>::load(place(i)) * factors[i % 2];
      transpose_square(square);
      for (std::int64_t i = 0; i < kSide; ++i)
        if constexpr (into) store(square[i] * factors[i % 2], place(i));
        else store(square[i], from + i * step);
    }
  return j;
}
/// Does what transpose_lines() does for a single line, whose real and imaginary parts are split or interleaved.
template <bool into, class T>
HWY_INLINE std::int64_t split_line(T* pairs, std::int64_t count, Split<T> x, T re, T im) {
  constexpr auto kStep = static_cast<std::int64_t>(kLanes<T>);
  const hn::ScalableTag<T> tag;
  const Vector<T> factor_re = re, factor_im = im;
  std::int64_t j = 0;
  for (; j + kStep <= count; j += kStep)
    if constexpr (into) {
      Vector<T> now_re, now_im;
      hn::LoadInterleaved2(tag, pairs + 2 * j, now_re.lanes, now_im.lanes);
      store(now_re * factor_re, x.re + j);
      store(now_im * factor_im, x.im + j);
    } else {
      const Vector<T> now_re = Vector<T>::load(x.re + j) * factor_re, now_im = Vector<T>::load(x.im + j) * factor_im;
      hn::StoreInterleaved2(now_re.lanes, now_im.lanes, tag, pairs + 2 * j);
    }
  return j;
}
template <bool into, class T>
std::int64_t copy_lines(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im, bool line) {
  return line ? split_line<into>(lines, count, x, re, im) : transpose_lines<into>(lines, step, count, x, re, im);
}

template <class T>
constexpr FftKernels<T> kFftKernels{passes<T>, turn_block<T>,       unfold<T>,
                                    fold<T>,   copy_lines<true, T>, copy_lines<false, T>};

const FftKernels<float>& fft_kernels_float() { return kFftKernels<float>; }
const FftKernels<double>& fft_kernels_double() { return kFftKernels<double>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(fft_kernels_float);
HWY_EXPORT(fft_kernels_double);
template <> const FftKernels<float>& fft_kernels() { return HWY_DYNAMIC_DISPATCH(fft_kernels_float)(); }
template <> const FftKernels<double>& fft_kernels() { return HWY_DYNAMIC_DISPATCH(fft_kernels_double)(); }

}  // namespace kiln::cpu::simd
#endif
