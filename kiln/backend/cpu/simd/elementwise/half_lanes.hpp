// What a half type keeps of numbers, in registers: the bits of core/half.hpp. Included once per target.
#if defined(KILN_SIMD_HALF_LANES_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_HALF_LANES_HPP
#undef KILN_SIMD_HALF_LANES_HPP
#else
#define KILN_SIMD_HALF_LANES_HPP
#endif

#include "kiln/backend/cpu/simd/vector.hpp"
#include "kiln/core/dtype.hpp"
#include "kiln/core/half.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using Lanes = Vector<float>;

template <DType> struct Halves;

template <>
struct Halves<DType::BF16> {
  using Words = hn::ScalableTag<std::uint32_t>;
  static HWY_INLINE hn::Vec<Words> upper_half(Lanes x) {
    const Words words;
    const auto bits = hn::BitCast(words, x.lanes);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto nearest = hn::Add(bits, hn::Add(hn::Set(words, 0x7fff), odd));
    return hn::IfThenElse(hn::RebindMask(words, is_nan(x).bits), hn::Or(bits, hn::Set(words, 0x400000)), nearest);
  }
  static HWY_INLINE Lanes round(Lanes x) {
    return hn::BitCast(hn::ScalableTag<float>(), hn::And(upper_half(x), hn::Set(Words(), 0xffff0000)));
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    const hn::Rebind<std::uint16_t, Words> halves;
    const auto words = hn::BitCast(hn::ScalableTag<std::int32_t>(), hn::ShiftRight<16>(upper_half(x)));
    hn::StoreU(hn::DemoteTo(halves, words), halves, reinterpret_cast<std::uint16_t*>(to));
  }
};

template <>
struct Halves<DType::F16> {
// Where the machine converts half precision itself; Highway's replacement for others does not round to nearest.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
  static constexpr bool kConverts = true;
  using Tag = hn::Rebind<hwy::float16_t, hn::ScalableTag<float>>;
  static HWY_INLINE Lanes load(const std::byte* from) {
    return hn::PromoteTo(hn::ScalableTag<float>(), hn::LoadU(Tag(), reinterpret_cast<const hwy::float16_t*>(from)));
  }
  static HWY_INLINE Lanes round(Lanes x) {
    return hn::PromoteTo(hn::ScalableTag<float>(), hn::DemoteTo(Tag(), x.lanes));
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    hn::StoreU(hn::DemoteTo(Tag(), x.lanes), Tag(), reinterpret_cast<hwy::float16_t*>(to));
  }
#else
  static constexpr bool kConverts = false;
  static HWY_INLINE Lanes load(const std::byte* from) {
    alignas(64) float numbers[kLanes<float>];
    for (std::size_t i = 0; i < kLanes<float>; ++i) numbers[i] = reinterpret_cast<const F16*>(from)[i];
    return Lanes::load(numbers);
  }
  static HWY_INLINE Lanes round(Lanes x) {
    alignas(64) float numbers[kLanes<float>];
    simd::HWY_NAMESPACE::store(x, numbers);
    for (float& number : numbers) number = F16(number);
    return Lanes::load(numbers);
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    alignas(64) float numbers[kLanes<float>];
    simd::HWY_NAMESPACE::store(x, numbers);
    for (std::size_t i = 0; i < kLanes<float>; ++i) reinterpret_cast<F16*>(to)[i] = F16(numbers[i]);
  }
#endif
};

/// A vector of as many halves.
HWY_INLINE Lanes load_half(const BF16* from) {
  const hn::ScalableTag<std::uint32_t> words;
  const hn::Rebind<std::uint16_t, decltype(words)> halves;
  const auto bits = hn::PromoteTo(words, hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(hn::ScalableTag<float>(), hn::ShiftLeft<16>(bits));
}
HWY_INLINE Lanes load_half(const F16* from) {
  return Halves<DType::F16>::load(reinterpret_cast<const std::byte*>(from));
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
