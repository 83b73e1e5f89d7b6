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
  /// A vector of as many halves, whose bits are given.
  template <class Floats>
  static HWY_INLINE hn::Vec<Floats> widen(Floats floats, hn::Vec<hn::Rebind<std::uint16_t, Floats>> bits) {
    const hn::RebindToUnsigned<Floats> words;
    return hn::BitCast(floats, hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
  }
  /// Rounded in its upper half, but for NaN.
  template <class Floats>
  static HWY_INLINE auto nearest(Floats, hn::Vec<Floats> x) {
    const hn::RebindToUnsigned<Floats> words;
    const auto bits = hn::BitCast(words, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    return hn::Add(bits, hn::Add(hn::Set(words, 0x7fff), odd));
  }
  template <class Floats>
  static HWY_INLINE auto upper_half(Floats floats, hn::Vec<Floats> x) {
    const hn::RebindToUnsigned<Floats> words;
    const auto quiet = hn::Or(hn::BitCast(words, x), hn::Set(words, 0x400000));
    return hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(x)), quiet, nearest(floats, x));
  }
  template <class Floats>
  static HWY_INLINE hn::Vec<Floats> round(Floats floats, hn::Vec<Floats> x) {
    const hn::RebindToUnsigned<Floats> words;
    return hn::BitCast(floats, hn::And(upper_half(floats, x), hn::Set(words, 0xffff0000)));
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    store_upper(upper_half(hn::ScalableTag<float>(), x.lanes), to);
  }
  /// The operands are not NaN.
  static HWY_INLINE void store_number(Lanes x, std::byte* to) {
    store_upper(nearest(hn::ScalableTag<float>(), x.lanes), to);
  }

 private:
  static HWY_INLINE void store_upper(hn::Vec<hn::ScalableTag<std::uint32_t>> bits, std::byte* to) {
    const hn::Rebind<std::uint16_t, hn::ScalableTag<float>> halves;
    hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(bits)), halves, reinterpret_cast<std::uint16_t*>(to));
  }
};

template <>
struct Halves<DType::F16> {
// These machines convert half precision themselves; Highway's replacement for others does not round to nearest.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
  static constexpr bool kConverts = true;
  using Tag = hn::Rebind<hwy::float16_t, hn::ScalableTag<float>>;
  template <class Floats>
  static HWY_INLINE hn::Vec<Floats> widen(Floats floats, hn::Vec<hn::Rebind<std::uint16_t, Floats>> bits) {
    return hn::PromoteTo(floats, hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), bits));
  }
  template <class Floats>
  static HWY_INLINE hn::Vec<Floats> round(Floats floats, hn::Vec<Floats> x) {
    return hn::PromoteTo(floats, hn::DemoteTo(hn::Rebind<hwy::float16_t, Floats>(), x));
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    hn::StoreU(hn::DemoteTo(Tag(), x.lanes), Tag(), reinterpret_cast<hwy::float16_t*>(to));
  }
#else
  static constexpr bool kConverts = false;
  template <class Floats>
  static HWY_INLINE hn::Vec<Floats> widen(Floats floats, hn::Vec<hn::Rebind<std::uint16_t, Floats>> bits) {
    alignas(64) std::uint16_t halves[kLanes<float>];
    alignas(64) float numbers[kLanes<float>];
    hn::StoreU(bits, hn::Rebind<std::uint16_t, Floats>(), halves);
    for (std::size_t i = 0; i < hn::MaxLanes(floats); ++i) numbers[i] = F16::from_bits(halves[i]);
    return hn::LoadU(floats, numbers);
  }
  template <class Floats>
  static HWY_INLINE hn::Vec<Floats> round(Floats floats, hn::Vec<Floats> x) {
    alignas(64) float numbers[kLanes<float>];
    hn::StoreU(x, floats, numbers);
    for (std::size_t i = 0; i < hn::MaxLanes(floats); ++i) numbers[i] = F16(numbers[i]);
    return hn::LoadU(floats, numbers);
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    alignas(64) float numbers[kLanes<float>];
    simd::HWY_NAMESPACE::store(x, numbers);
    for (std::size_t i = 0; i < kLanes<float>; ++i) reinterpret_cast<F16*>(to)[i] = F16(numbers[i]);
  }
#endif
};

/// A vector of as many halves.
template <class Half>
HWY_INLINE Lanes load_half(const Half* from) {
  const hn::ScalableTag<float> floats;
  const hn::Rebind<std::uint16_t, decltype(floats)> halves;
  return Halves<dtype_of<Half>>::widen(floats, hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from)));
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
