#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"

#include <cmath>
#include <cstring>
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
  /// -i times this
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

/// The transforms of 2 and 4 numbers in place.
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
/// Of an odd number of them: those at equal distance from 0 go together.
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

/// One pass. `stride` numbers lie between what one butterfly reads in neighbouring parts. kRadix 0: as the stage says.
template <int kRadix, class T>
HWY_INLINE void pass(const FftStage<T>& stage, std::int64_t stride, Split<T> x, Split<T> y) {
  const std::int64_t radix = kRadix ? kRadix : stage.radix, parts = stage.parts;
  const T *cosine = stage.cosine.data(), *sine = stage.sine.data();
  Complex<T> a[kRadix ? kRadix : 31];
  for (std::int64_t p = 0; p < parts; ++p) {
    const T* turns = stage.turns.data() + p * 2 * (radix - 1);
    for (std::int64_t q = 0; q < stride; q += static_cast<std::int64_t>(kLanes<T>)) {
      for (std::int64_t k = 0; k < radix; ++k) a[k] = load(x.at(q + stride * (p + parts * k)));
      if constexpr (kRadix == 2) butterfly_2(a);
      else if constexpr (kRadix == 4) butterfly_4(a);
      else butterfly_odd(a, radix, cosine, sine);
      store(a[0], y.at(q + stride * radix * p));
      for (std::int64_t k = 1; k < radix; ++k)
        store(a[k] * same(turns[2 * k - 2], turns[2 * k - 1]), y.at(q + stride * (radix * p + k)));
    }
  }
}

template <class T>
HWY_INLINE Split<T> passes(const FftPlan<T>& plan, Split<T> x, Split<T> y) {
  std::int64_t stride = kColumns;
  for (const FftStage<T>& stage : plan.stages) {
    switch (stage.radix) {
      case 2: pass<2>(stage, stride, x, y); break;
      case 3: pass<3>(stage, stride, x, y); break;
      case 4: pass<4>(stage, stride, x, y); break;
      case 5: pass<5>(stage, stride, x, y); break;
      case 7: pass<7>(stage, stride, x, y); break;
      default: pass<0>(stage, stride, x, y); break;
    }
    stride *= stage.radix;
    std::swap(x, y);
  }
  return x;
}
Split<float> passes_f32(const FftPlan<float>& plan, Split<float> x, Split<float> y) { return passes(plan, x, y); }
Split<double> passes_f64(const FftPlan<double>& plan, Split<double> x, Split<double> y) { return passes(plan, x, y); }

/// The numbers from place kFirst on of either, taken in turn.
template <int kFirst, class Lanes, int... I>
HWY_INLINE Lanes interleave(Lanes a, Lanes b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (kFirst + I / 2 + I % 2 * static_cast<int>(sizeof...(I)))...);
}
/// Vectors that are the rows of a square become its columns.
template <class T>
HWY_INLINE void turn_square(Vector<T>* rows) {
  constexpr int kSide = static_cast<int>(kLanes<T>);
  typedef T Lanes __attribute__((vector_size(kSide * sizeof(T))));  // compilers shuffle these
  constexpr auto places = std::make_integer_sequence<int, kSide>();
  Lanes now[kSide], next[kSide];
  for (int i = 0; i < kSide; ++i) std::memcpy(&now[i], &rows[i], sizeof(Lanes));
  // A number's row and its place in it, as one number: each interleaving turns the bits of that number by one.
  for (int turned = 1; turned < kSide; turned *= 2) {
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave<0>(now[i], now[i + kSide / 2], places);
      next[2 * i + 1] = interleave<kSide / 2>(now[i], now[i + kSide / 2], places);
    }
    for (int i = 0; i < kSide; ++i) now[i] = next[i];
  }
  // Where there are no instructions for it, Highway's vector is a class with initialisers, which compilers warn of.
  for (int i = 0; i < kSide; ++i) std::memcpy(static_cast<void*>(&rows[i]), &now[i], sizeof(Lanes));
}

/// `into`: from lines to the block, otherwise the reverse. A square has kLanes lines and half as many elements.
template <bool into, class T>
HWY_INLINE std::int64_t turn_lines(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im) {
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
      turn_square(square);
      for (std::int64_t i = 0; i < kSide; ++i)
        if constexpr (into) store(square[i] * factors[i % 2], place(i));
        else store(square[i], from + i * step);
    }
  return j;
}
#define KILN_TURN(T, suffix)                                                                                \
  std::int64_t turn_in_##suffix(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im) {  \
    return turn_lines<true>(lines, step, count, x, re, im);                                                 \
  }                                                                                                         \
  std::int64_t turn_out_##suffix(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im) { \
    return turn_lines<false>(lines, step, count, x, re, im);                                                \
  }
KILN_TURN(float, f32)
KILN_TURN(double, f64)
#undef KILN_TURN

/// x[j * kColumns + c] *= w[j * row + c * column]
template <class T>
HWY_INLINE void turn_block(Split<T> x, const T* re, const T* im, std::int64_t row, std::int64_t column,
                           std::int64_t rows) {
  for (std::int64_t j = 0; j < rows; ++j)
    for (std::int64_t c = 0; c < kColumns; c += static_cast<std::int64_t>(kLanes<T>)) {
      const T *r = re + j * row + c * column, *i = im + j * row + c * column;
      const Complex<T> w = column ? Complex<T>{Vector<T>::load(r), Vector<T>::load(i)} : same(*r, *i);
      const Split<T> at = x.at(j * kColumns + c);
      store(load(at) * w, at);
    }
}
void turn_block_f32(Split<float> x, const float* re, const float* im, std::int64_t row, std::int64_t column,
                    std::int64_t rows) {
  turn_block(x, re, im, row, column, rows);
}
void turn_block_f64(Split<double> x, const double* re, const double* im, std::int64_t row, std::int64_t column,
                    std::int64_t rows) {
  turn_block(x, re, im, row, column, rows);
}

// Plain loops, which the compiler makes vectors of where there are columns.

template <std::int64_t kWidth, class T>
HWY_INLINE void unfold_each(const FftPlan<T>& plan, Split<T> x, Split<T> z) {
  const std::int64_t n = plan.n;
  for (std::int64_t k = 0; k <= n; ++k) {
    const T wr = plan.half_turns.re[static_cast<std::size_t>(k)], wi = plan.half_turns.im[static_cast<std::size_t>(k)];
    const Split<T> a = x.at(k % n * kWidth), b = x.at((n - k) % n * kWidth), out = z.at(k * kWidth);
    for (std::int64_t c = 0; c < kWidth; ++c) {
      // The even elements' spectrum, and i times that of the odd ones.
      const T even_re = (a.re[c] + b.re[c]) / 2, even_im = (a.im[c] - b.im[c]) / 2;
      const T odd_re = (a.re[c] - b.re[c]) / 2, odd_im = (a.im[c] + b.im[c]) / 2;
      out.re[c] = even_re + (odd_im * wr + odd_re * wi);
      out.im[c] = even_im + (odd_im * wi - odd_re * wr);
    }
  }
}
template <std::int64_t kWidth, class T>
HWY_INLINE void fold_each(const FftPlan<T>& plan, Split<T> x, Split<T> z) {
  const std::int64_t n = plan.n;
  for (std::int64_t k = 0; k < n; ++k) {
    const T wr = plan.half_turns.re[static_cast<std::size_t>(k)], wi = plan.half_turns.im[static_cast<std::size_t>(k)];
    const Split<T> a = x.at(k * kWidth), b = x.at((n - k) * kWidth), out = z.at(k * kWidth);
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const T even_re = a.re[c] + b.re[c], even_im = a.im[c] - b.im[c];
      const T odd_re = a.re[c] - b.re[c], odd_im = a.im[c] + b.im[c];
      out.re[c] = even_re - (odd_im * wr - odd_re * wi);
      out.im[c] = even_im + (odd_re * wr + odd_im * wi);
    }
  }
}
#define KILN_SPECTRUM(T, suffix)                                                    \
  void unfold_##suffix(const FftPlan<T>& plan, Split<T> x, Split<T> z, bool line) { \
    line ? unfold_each<1>(plan, x, z) : unfold_each<kColumns>(plan, x, z);          \
  }                                                                                 \
  void fold_##suffix(const FftPlan<T>& plan, Split<T> x, Split<T> z, bool line) {   \
    line ? fold_each<1>(plan, x, z) : fold_each<kColumns>(plan, x, z);              \
  }
KILN_SPECTRUM(float, f32)
KILN_SPECTRUM(double, f64)
#undef KILN_SPECTRUM

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_EXPORT(T, suffix)                                                                                       \
  HWY_EXPORT(passes_##suffix);                                                                                       \
  HWY_EXPORT(turn_block_##suffix);                                                                                   \
  HWY_EXPORT(turn_in_##suffix);                                                                                      \
  HWY_EXPORT(turn_out_##suffix);                                                                                     \
  HWY_EXPORT(unfold_##suffix);                                                                                       \
  HWY_EXPORT(fold_##suffix);                                                                                         \
  template <>                                                                                                        \
  Split<T> pass_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y) {                                            \
    return HWY_DYNAMIC_DISPATCH(passes_##suffix)(plan, x, y);                                                        \
  }                                                                                                                  \
  template <>                                                                                                        \
  std::int64_t turn_into_block(const T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im) {      \
    return HWY_DYNAMIC_DISPATCH(turn_in_##suffix)(const_cast<T*>(lines), step, count, x, re, im);                    \
  }                                                                                                                  \
  template <>                                                                                                        \
  std::int64_t turn_out_of_block(Split<T> x, std::int64_t count, T re, T im, T* lines, std::int64_t step) {          \
    return HWY_DYNAMIC_DISPATCH(turn_out_##suffix)(lines, step, count, x, re, im);                                   \
  }                                                                                                                  \
  template <>                                                                                                        \
  void turn_columns(Split<T> x, const SplitVector<T>& w, std::int64_t first, std::int64_t step, std::int64_t rows) { \
    HWY_DYNAMIC_DISPATCH(turn_block_##suffix)(x, w.re.data() + first, w.im.data() + first, step, 1, rows);           \
  }                                                                                                                  \
  template <>                                                                                                        \
  void turn_rows(Split<T> x, const SplitVector<T>& w, std::int64_t rows) {                                           \
    HWY_DYNAMIC_DISPATCH(turn_block_##suffix)(x, w.re.data(), w.im.data(), 1, 0, rows);                              \
  }                                                                                                                  \
  template <>                                                                                                        \
  void unfold_spectrum(const FftPlan<T>& plan, Split<T> x, Split<T> z, std::int64_t columns) {                       \
    HWY_DYNAMIC_DISPATCH(unfold_##suffix)(plan, x, z, columns == 1);                                                 \
  }                                                                                                                  \
  template <>                                                                                                        \
  void fold_spectrum(const FftPlan<T>& plan, Split<T> x, Split<T> z, std::int64_t columns) {                         \
    HWY_DYNAMIC_DISPATCH(fold_##suffix)(plan, x, z, columns == 1);                                                   \
  }
KILN_EXPORT(float, f32)
KILN_EXPORT(double, f64)
#undef KILN_EXPORT

}  // namespace kiln::cpu::simd
#endif
