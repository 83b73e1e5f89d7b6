#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

#include <algorithm>
#include <cstring>

#include "kiln/core/convert.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/convert.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
// The compiler makes vector code of this for the target at hand.
template <class From, class To>
void convert_each(const From* HWY_RESTRICT from, To* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = kiln::convert<To>(from[i]);
}
/// Floats whose rounding to a half is that of the numbers.
template <class From>
void round_to_odd_each(const From* HWY_RESTRICT from, float* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = round_to_odd(from[i]);
}

// These machines convert like IEEE 754. Highway's replacements for others do not round to nearest, and clamp.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
#define KILN_CONVERTS_VECTORS

/// A vector at a time, and what is left in a vector of its own.
template <class From, class To, class Tag, class Step>
HWY_INLINE void each_vector(const From* from, To* to, std::int64_t count, Tag, Step&& step) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(Tag()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) step(from + i, to + i);
  if (i == count) return;
  From last[lanes] = {};
  To made[lanes];
  std::copy_n(from + i, count - i, last);
  step(last, made);
  std::copy_n(made, count - i, to + i);
}

constexpr hn::ScalableTag<float> kFloats{};
constexpr hn::Rebind<hwy::float16_t, decltype(kFloats)> kHalves{};
constexpr hn::ScalableTag<double> kDoubles{};
constexpr hn::Rebind<float, decltype(kDoubles)> kDemoted{};
constexpr hn::RebindToSigned<decltype(kFloats)> kWords{};

template <>
void convert_each<F16, float>(const F16* from, float* to, std::int64_t count) {
  each_vector(from, to, count, kFloats, [](const F16* x, float* z) HWY_ATTR {
    hn::StoreU(hn::PromoteTo(kFloats, hn::LoadU(kHalves, reinterpret_cast<const hwy::float16_t*>(x))), kFloats, z);
  });
}
template <>
void convert_each<float, F16>(const float* from, F16* to, std::int64_t count) {
  each_vector(from, to, count, kFloats, [](const float* x, F16* z) HWY_ATTR {
    hn::StoreU(hn::DemoteTo(kHalves, hn::LoadU(kFloats, x)), kHalves, reinterpret_cast<hwy::float16_t*>(z));
  });
}
template <>
void convert_each<double, float>(const double* from, float* to, std::int64_t count) {
  each_vector(from, to, count, kDoubles, [](const double* x, float* z) HWY_ATTR {
    hn::StoreU(hn::DemoteTo(kDemoted, hn::LoadU(kDoubles, x)), kDemoted, z);
  });
}
#if HWY_TARGET == HWY_AVX3
HWY_INLINE void store_words(Lanes x, std::int32_t* to) {
  const __m512 number = x.lanes.raw;
  // What is outside of all words becomes the least of them.
  const __m512i whole = _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(number, number, _CMP_ORD_Q), number);
  const __mmask16 above = _mm512_cmp_ps_mask(number, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
  _mm512_storeu_si512(to, _mm512_mask_mov_epi32(whole, above, _mm512_set1_epi32(INT32_MAX)));
}
#else
HWY_INLINE void store_words(Lanes x, std::int32_t* to) {
  const auto whole = hn::ConvertTo(kWords, x.lanes);  // saturates
  hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(kWords, is_nan(x).bits), whole), kWords, to);
}
#endif
template <>
void convert_each<float, std::int32_t>(const float* from, std::int32_t* to, std::int64_t count) {
  each_vector(from, to, count, kFloats,
              [](const float* x, std::int32_t* z) HWY_ATTR { store_words(Lanes::load(x), z); });
}
template <>
void convert_each<double, std::int32_t>(const double* from, std::int32_t* to, std::int64_t count) {
  constexpr hn::Rebind<std::int32_t, decltype(kDoubles)> kNarrow{};
  each_vector(from, to, count, kDoubles, [=](const double* x, std::int32_t* z) HWY_ATTR {
    const auto number = hn::LoadU(kDoubles, x);
    const auto known = hn::IfThenZeroElse(hn::IsNaN(number), number);
    hn::StoreU(hn::DemoteTo(kNarrow, known), kNarrow, z);  // saturates
  });
}
#if HWY_TARGET == HWY_AVX3
/// Words of which those that are too large are any that are.
HWY_INLINE __m512i words_at(const float* x) {
  const __m512 number = _mm512_loadu_ps(x);
  // What is below all words becomes the least of them.
  return _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(number, number, _CMP_ORD_Q),
                                   _mm512_min_ps(number, _mm512_set1_ps(0x1p30f)));
}
HWY_INLINE __m512i words_at(const double* x) {
  const auto half = [](const double* from) HWY_ATTR {
    const __m512d number = _mm512_loadu_pd(from);
    return _mm512_maskz_cvttpd_epi32(_mm512_cmp_pd_mask(number, number, _CMP_ORD_Q),
                                     _mm512_min_pd(number, _mm512_set1_pd(0x1p30)));
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(half(x)), half(x + 8), 1);
}
/// Saturated, 64 at a time: each instruction packs the quarters of two vectors by turns.
template <class From, class To>
HWY_INLINE void pack_words(const From* x, To* z) {
  constexpr bool is_signed = std::is_signed_v<To>;
  const __m512i a = words_at(x), b = words_at(x + 16), c = words_at(x + 32), d = words_at(x + 48);
  if constexpr (sizeof(To) == 1) {
    const __m512i ab = _mm512_packs_epi32(a, b), cd = _mm512_packs_epi32(c, d);
    const __m512i turns = is_signed ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(z, _mm512_permutexvar_epi32(order, turns));
  } else {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512i ab = is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
    const __m512i cd = is_signed ? _mm512_packs_epi32(c, d) : _mm512_packus_epi32(c, d);
    _mm512_storeu_si512(z, _mm512_permutexvar_epi64(order, ab));
    _mm512_storeu_si512(z + 32, _mm512_permutexvar_epi64(order, cd));
  }
}
template <class From, class To>
HWY_INLINE void through_words(const From* from, To* to, std::int64_t count) {
  constexpr std::int64_t kPacked = 64;
  std::int64_t i = 0;
  for (; i + kPacked <= count; i += kPacked) pack_words(from + i, to + i);
  if (i == count) return;
  From last[kPacked] = {};
  To made[kPacked];
  std::copy_n(from + i, count - i, last);
  pack_words(last, made);
  std::copy_n(made, count - i, to + i);
}
#else
/// Integers of fewer bits saturate after those of 32 do.
template <class From, class To>
HWY_INLINE void through_words(const From* HWY_RESTRICT from, To* HWY_RESTRICT to, std::int64_t count) {
  using Limits = std::numeric_limits<To>;
  constexpr std::int64_t kBlock = 256;
  alignas(64) std::int32_t words[kBlock];
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t some = std::min(kBlock, count - at);
    convert_each(from + at, words, some);
    for (std::int64_t i = 0; i < some; ++i)
      to[at + i] = static_cast<To>(std::clamp<std::int32_t>(words[i], Limits::min(), Limits::max()));
  }
}
#endif
#define KILN_SHORT_INTEGERS(ROW) ROW(std::int16_t) ROW(std::int8_t) ROW(std::uint16_t) ROW(std::uint8_t)
#define KILN_THROUGH_WORDS(To)                                                                \
  template <> void convert_each<float, To>(const float* from, To* to, std::int64_t count) {   \
    through_words(from, to, count);                                                           \
  }                                                                                           \
  template <> void convert_each<double, To>(const double* from, To* to, std::int64_t count) { \
    through_words(from, to, count);                                                           \
  }
KILN_SHORT_INTEGERS(KILN_THROUGH_WORDS)
#undef KILN_THROUGH_WORDS
#if HWY_TARGET == HWY_AVX3
/// Truncated, with the last bit set where that loses something.
template <>
void round_to_odd_each(const double* from, float* to, std::int64_t count) {
  each_vector(from, to, count, kDoubles, [](const double* x, float* z) HWY_ATTR {
    const __m512d number = _mm512_loadu_pd(x);
    const __m256i cut = _mm256_castps_si256(_mm512_cvt_roundpd_ps(number, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    const __mmask8 loses = _mm512_cmp_pd_mask(_mm512_cvtps_pd(_mm256_castsi256_ps(cut)), number, _CMP_NEQ_OQ);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(z), _mm256_mask_or_epi32(cut, loses, cut, _mm256_set1_epi32(1)));
  });
}
#else
/// The neighbour on the other side of a number that lies between two floats, where the nearest one is even.
template <>
void round_to_odd_each(const double* from, float* to, std::int64_t count) {
  each_vector(from, to, count, kDoubles, [](const double* x, float* z) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(kDemoted)> bits;
    const auto number = hn::LoadU(kDoubles, x);
    const auto nearest = hn::DemoteTo(kDemoted, number);
    const auto size = hn::Abs(number), rounded = hn::Abs(hn::PromoteTo(kDoubles, nearest));
    const auto one = hn::Set(kDoubles, 1.0);
    // The number of 32 bits to add to the bits of the float, were they even.
    const hn::RebindToSigned<decltype(bits)> words;
    const auto step = hn::DemoteTo(
        words, hn::Sub(hn::IfThenElseZero(hn::Lt(rounded, size), one), hn::IfThenElseZero(hn::Gt(rounded, size), one)));
    const auto pattern = hn::BitCast(bits, nearest);
    const auto odd = hn::Set(bits, 1);
    const auto even = hn::Sub(hn::And(pattern, odd), odd);  // all ones where it is
    hn::StoreU(hn::BitCast(kDemoted, hn::Add(pattern, hn::And(hn::BitCast(bits, step), even))), kDemoted, z);
  });
}
#endif

/// Rounded to float16 as the number is, half a vector: that has so few digits that those after the 23rd may be one, and
/// 0 for all that floats have no 23 digits of.
HWY_INLINE hn::Vec<decltype(kDemoted)> shortened(const double* x) {
  const hn::RebindToUnsigned<decltype(kDoubles)> bits;
  const auto number = hn::BitCast(bits, hn::LoadU(kDoubles, x)), lost = hn::Set(bits, (std::uint64_t{1} << 29) - 1);
  const auto odd = hn::Or(number, hn::Add(hn::And(number, lost), lost));
  return hn::DemoteTo(kDemoted, hn::BitCast(kDoubles, hn::AndNot(lost, odd)));
}
HWY_INLINE void store_rounded(const double* x, F16* to) {
  const auto numbers = hn::Combine(kFloats, shortened(x + hn::MaxLanes(kDoubles)), shortened(x));
  Halves<DType::F16>::store(numbers, reinterpret_cast<std::byte*>(to));
}
/// float16 ends before the numbers that a float does not hold.
HWY_INLINE void store_rounded(const std::int32_t* x, F16* to) {
  const auto numbers = hn::ConvertTo(kFloats, hn::LoadU(kWords, x));
  Halves<DType::F16>::store(numbers, reinterpret_cast<std::byte*>(to));
}
HWY_INLINE void store_rounded(const std::int32_t* x, BF16* to) {
#if HWY_TARGET == HWY_AVX3
  const __m512i number = _mm512_loadu_si512(x);
  const __m512 cut = _mm512_cvt_roundepi32_ps(number, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask16 loses = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), number);
  const __m512i bits = _mm512_castps_si512(cut);
  const __m512i odd = _mm512_mask_or_epi32(bits, loses, bits, _mm512_set1_epi32(1));
  const Lanes numbers(hn::Vec<decltype(kFloats)>{_mm512_castsi512_ps(odd)});
#else
  // As shorten_each() has it.
  const hn::RebindToUnsigned<decltype(kFloats)> words;
  const auto bits = hn::BitCast(words, hn::LoadU(kWords, x)), low = hn::Set(words, 255u);
  const auto odd = hn::AndNot(low, hn::Or(bits, hn::Add(hn::And(bits, low), low)));
  const auto large = hn::Gt(hn::Add(bits, hn::Set(words, 1u << 24)), hn::Set(words, 1u << 25));
  const Lanes numbers(hn::ConvertTo(kFloats, hn::BitCast(kWords, hn::IfThenElse(large, odd, bits))));
#endif
  Halves<DType::BF16>::store_number(numbers, reinterpret_cast<std::byte*>(to));
}
/// A float holds all integers of 16 bits or fewer.
template <class From, class Half>
HWY_INLINE void store_rounded(const From* x, Half* to) {
  const auto words = hn::PromoteTo(kWords, hn::LoadU(hn::Rebind<From, decltype(kWords)>(), x));
  const Lanes numbers(hn::ConvertTo(kFloats, words));
  if constexpr (std::is_same_v<Half, BF16>)
    Halves<DType::BF16>::store_number(numbers, reinterpret_cast<std::byte*>(to));
  else Halves<DType::F16>::store(numbers, reinterpret_cast<std::byte*>(to));
}
#endif

/// Whole numbers as doubles, exactly; those that are too large for that with their last bit set where digits were lost.
template <class From>
void widen_each(const From* HWY_RESTRICT from, double* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (sizeof(From) == 8) {
      constexpr From kLargest = From{1} << 53;
      const From number = from[i], odd = ((number >> 11) | From{(number & 2047) != 0}) << 11;
      const bool is_large = number > kLargest || (std::is_signed_v<From> && number < From{0} - kLargest);
      to[i] = static_cast<double>(is_large ? odd : number);
    } else {
      to[i] = static_cast<double>(from[i]);
    }
  }
}

/// Whole numbers of 32 bits as floats whose rounding to bfloat16 is theirs: those that a float does not hold lose their
/// last eight bits, and where these were not 0, the next one is set.
template <class From>
void shorten_each(const From* HWY_RESTRICT from, float* HWY_RESTRICT to, std::int64_t count) {
  static_assert(sizeof(From) == 4);
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr std::uint32_t kHeld = 1u << 24;
    const auto bits = static_cast<std::uint32_t>(from[i]);
    const std::uint32_t odd = (bits & ~255u) | (((bits & 255u) + 255u) & 256u);
    const std::uint32_t large = std::is_signed_v<From> ? bits + kHeld > 2 * kHeld : bits > kHeld;
    to[i] = static_cast<float>(static_cast<From>(bits ^ ((bits ^ odd) & (0u - large))));  // compilers see no branch
  }
}

/// Are all of them whole numbers that a float holds? Compilers see no branch.
template <class From>
bool all_held(const From* HWY_RESTRICT from, std::int64_t count) {
  using Bits = std::make_unsigned_t<From>;
  constexpr Bits kHeld = Bits{1} << 24, kLow = std::is_signed_v<From> ? kHeld : 0;
  Bits all = 0;
  for (std::int64_t i = 0; i < count; ++i) all |= static_cast<Bits>(from[i]) + kLow;
  return all < kLow + kHeld;
}

/// Halves become other types, and other types halves, as floats, a block at a time.
template <class From, class To>
void convert_dense(const From* from, To* to, std::int64_t count) {
  constexpr std::int64_t kBlock = 256;
  if constexpr (is_half<From> && !std::is_same_v<To, float>) {
    alignas(64) float block[kBlock];
    for (std::int64_t at = 0; at < count; at += kBlock) {
      const std::int64_t some = std::min(kBlock, count - at);
      convert_each(from + at, block, some);
      convert_each(block, to + at, some);
    }
  } else if constexpr (is_half<To> && !std::is_same_v<From, float>) {
    // Floats hold whole numbers as far as float16 goes.
    constexpr bool kHolds = std::is_integral_v<From> && (sizeof(From) <= 2 || std::is_same_v<To, F16>);
    alignas(64) float block[kBlock];
    for (std::int64_t at = 0; at < count; at += kBlock) {
      const std::int64_t some = std::min(kBlock, count - at);
      if constexpr (kHolds) {
        convert_each(from + at, block, some);
      } else if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
        if (all_held(from + at, some)) {
          convert_each(from + at, block, some);
        } else {
          alignas(64) double wide[kBlock];
          widen_each(from + at, wide, some);
          round_to_odd_each(wide, block, some);
        }
      } else if constexpr (std::is_integral_v<From> && sizeof(From) == 4) {
        shorten_each(from + at, block, some);
      } else {
        round_to_odd_each(from + at, block, some);
      }
      convert_each(block, to + at, some);
    }
  } else {
    convert_each(from, to, count);
  }
}

#ifdef KILN_CONVERTS_VECTORS
#undef KILN_CONVERTS_VECTORS
// In one go: blocks would take longer than what there is to compute.
#define KILN_CONVERT_DENSE(From, To, step)                                                 \
  template <> void convert_dense<From, To>(const From* from, To* to, std::int64_t count) { \
    each_vector(from, to, count, kFloats, [](const From* x, To* z) HWY_ATTR { step; });    \
  }
KILN_CONVERT_DENSE(double, F16, store_rounded(x, z))
KILN_CONVERT_DENSE(std::int32_t, F16, store_rounded(x, z))
KILN_CONVERT_DENSE(std::int32_t, BF16, store_rounded(x, z))
KILN_CONVERT_DENSE(F16, std::int32_t, store_words(load_half(x), z))
KILN_CONVERT_DENSE(BF16, std::int32_t, store_words(load_half(x), z))
#define KILN_ROUND_SHORT(From)                       \
  KILN_CONVERT_DENSE(From, F16, store_rounded(x, z)) \
  KILN_CONVERT_DENSE(From, BF16, store_rounded(x, z))
KILN_SHORT_INTEGERS(KILN_ROUND_SHORT)
#undef KILN_ROUND_SHORT
#undef KILN_CONVERT_DENSE
#undef KILN_SHORT_INTEGERS
#endif

void convert_types(DType from, const void* x, DType to, void* z, std::int64_t count) {
  visit_dtype(from, [&](auto from_tag) {
    visit_dtype(to, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      if constexpr (!std::is_same_v<From, To>) convert_dense(static_cast<const From*>(x), static_cast<To*>(z), count);
    });
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(convert_types);

void convert(DType from, const void* x, DType to, void* z, std::int64_t count) {
  if (count == 0) return;  // of nothing, there may be no memory
  // A boolean is 0 or 1, of which compilers know less as a byte.
  if (from == DType::Bool && to != DType::Bool) from = DType::U8;
  if (from == to) std::memcpy(z, x, static_cast<std::size_t>(count) * size_of(from));
  else HWY_DYNAMIC_DISPATCH(convert_types)(from, x, to, z, count);
}

}  // namespace kiln::cpu::simd
#endif
