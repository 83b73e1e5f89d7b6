#include "kiln/backend/cpu/simd/fft/fft_layout.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/fft/fft_layout.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

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
#define KILN_TURN(T, suffix)                                                                                           \
  std::int64_t turn_in_##suffix(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im, bool line) {  \
    return line ? split_line<true>(lines, count, x, re, im) : transpose_lines<true>(lines, step, count, x, re, im);    \
  }                                                                                                                    \
  std::int64_t turn_out_##suffix(T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im, bool line) { \
    return line ? split_line<false>(lines, count, x, re, im) : transpose_lines<false>(lines, step, count, x, re, im);  \
  }
KILN_TURN(float, f32)
KILN_TURN(double, f64)
#undef KILN_TURN

/// Transposes a block in squares, and the rest number by number.
template <class T>
HWY_INLINE void transpose(const T* block, std::int64_t width, std::int64_t rows, T* lines, std::int64_t step) {
  constexpr auto kSide = static_cast<std::int64_t>(kLanes<T>);
  std::int64_t whole = 0;
  if constexpr (kSide > 1 && kColumns % kSide == 0) {
    whole = rows / kSide * kSide;
    Vector<T> square[kSide];
    for (std::int64_t r = 0; r < whole; r += kSide)
      for (std::int64_t c = 0; c < width; c += kSide) {
        for (std::int64_t i = 0; i < kSide; ++i) square[i] = Vector<T>::load(block + (r + i) * kColumns + c);
        transpose_square(square);
        for (std::int64_t i = 0; i < std::min(kSide, width - c); ++i) store(square[i], lines + (c + i) * step + r);
      }
  }
  for (std::int64_t r = whole; r < rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) lines[c * step + r] = block[r * kColumns + c];
}
void transpose_f32(const float* block, std::int64_t width, std::int64_t rows, float* lines, std::int64_t step) {
  transpose(block, width, rows, lines, step);
}
void transpose_f64(const double* block, std::int64_t width, std::int64_t rows, double* lines, std::int64_t step) {
  transpose(block, width, rows, lines, step);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_EXPORT(T, suffix)                                                                                \
  HWY_EXPORT(turn_in_##suffix);                                                                               \
  HWY_EXPORT(turn_out_##suffix);                                                                              \
  HWY_EXPORT(transpose_##suffix);                                                                             \
  template <>                                                                                                 \
  std::int64_t copy_into_block(const T* lines, std::int64_t step, std::int64_t count, Split<T> x, T re, T im, \
                               std::int64_t columns) {                                                        \
    T* const from = const_cast<T*>(lines);                                                                    \
    return HWY_DYNAMIC_DISPATCH(turn_in_##suffix)(from, step, count, x, re, im, columns == 1);                \
  }                                                                                                           \
  template <>                                                                                                 \
  std::int64_t copy_out_of_block(Split<T> x, std::int64_t count, T re, T im, T* lines, std::int64_t step,     \
                                 std::int64_t columns) {                                                      \
    return HWY_DYNAMIC_DISPATCH(turn_out_##suffix)(lines, step, count, x, re, im, columns == 1);              \
  }                                                                                                           \
  template <>                                                                                                 \
  void transpose_block(const T* block, std::int64_t width, std::int64_t rows, T* lines, std::int64_t step) {  \
    HWY_DYNAMIC_DISPATCH(transpose_##suffix)(block, width, rows, lines, step);                                \
  }
KILN_EXPORT(float, f32)
KILN_EXPORT(double, f64)
#undef KILN_EXPORT

}  // namespace kiln::cpu::simd
#endif
