// A Highway vector with the operators of a number, so that the expressions of elementwise.def compile for it.
// Included once per target.
#if defined(KILN_SIMD_VECTOR_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_HPP
#undef KILN_SIMD_VECTOR_HPP
#else
#define KILN_SIMD_VECTOR_HPP
#endif

#include <hwy/highway.h>

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Mask {
  hn::Mask<hn::ScalableTag<T>> bits;

  friend HWY_INLINE Mask operator&(Mask a, Mask b) { return {hn::And(a.bits, b.bits)}; }
  friend HWY_INLINE Mask operator|(Mask a, Mask b) { return {hn::Or(a.bits, b.bits)}; }
  friend HWY_INLINE Mask operator^(Mask a, Mask b) { return {hn::Xor(a.bits, b.bits)}; }
  friend HWY_INLINE Mask operator!(Mask a) { return {hn::Not(a.bits)}; }
};

/// T is float or double, or int16, int32 or int64, whose sums and products wrap around. A plain number converts to a
/// vector that has it in all lanes.
template <class T>
struct Vector {
  using Tag = hn::ScalableTag<T>;
  hn::Vec<Tag> lanes;

  Vector() = default;
  HWY_INLINE Vector(hn::Vec<Tag> value) : lanes(value) {}
  template <class Number>
  requires std::is_arithmetic_v<Number>
  HWY_INLINE Vector(Number number) : lanes(hn::Set(Tag(), static_cast<T>(number))) {}

  static HWY_INLINE Vector load(const T* from) { return hn::LoadU(Tag(), from); }

  friend HWY_INLINE Vector operator+(Vector a, Vector b) { return hn::Add(a.lanes, b.lanes); }
  friend HWY_INLINE Vector operator-(Vector a, Vector b) { return hn::Sub(a.lanes, b.lanes); }
  friend HWY_INLINE Vector operator*(Vector a, Vector b) { return hn::Mul(a.lanes, b.lanes); }
  friend HWY_INLINE Vector operator/(Vector a, Vector b) { return hn::Div(a.lanes, b.lanes); }
  friend HWY_INLINE Vector operator-(Vector a) { return hn::Xor(a.lanes, hn::SignBit(Tag())); }

  friend HWY_INLINE Mask<T> operator==(Vector a, Vector b) { return {hn::Eq(a.lanes, b.lanes)}; }
  friend HWY_INLINE Mask<T> operator!=(Vector a, Vector b) { return !(a == b); }  // hn::Ne is false for NaN on AVX
  friend HWY_INLINE Mask<T> operator<(Vector a, Vector b) { return {hn::Lt(a.lanes, b.lanes)}; }
  friend HWY_INLINE Mask<T> operator<=(Vector a, Vector b) { return {hn::Le(a.lanes, b.lanes)}; }
  friend HWY_INLINE Mask<T> operator>(Vector a, Vector b) { return {hn::Gt(a.lanes, b.lanes)}; }
  friend HWY_INLINE Mask<T> operator>=(Vector a, Vector b) { return {hn::Ge(a.lanes, b.lanes)}; }

  friend HWY_INLINE Vector select(Mask<T> condition, Vector a, Vector b) {
    return hn::IfThenElse(condition.bits, a.lanes, b.lanes);
  }
  /// a * b + c, rounded once if the machine has such an instruction.
  friend HWY_INLINE Vector fma(Vector a, Vector b, Vector c) {
    if constexpr (std::is_integral_v<T>) return a * b + c;
    else return hn::MulAdd(a.lanes, b.lanes, c.lanes);
  }
  friend HWY_INLINE Mask<T> is_nan(Vector a) { return {hn::IsNaN(a.lanes)}; }
  /// NaN if either operand is.
  friend HWY_INLINE Vector max(Vector a, Vector b) { return select(is_nan(a), a, first_if_larger(a, b)); }
  friend HWY_INLINE Vector min(Vector a, Vector b) { return select(is_nan(a), a, first_if_smaller(a, b)); }
  /// Limits a to [low, high]; NaN stays NaN.
  friend HWY_INLINE Vector clamp(Vector a, Vector low, Vector high) {
    return first_if_smaller(high, first_if_larger(low, a));
  }
  friend HWY_INLINE Vector at_most(Vector a, Vector high) { return first_if_smaller(high, a); }

 private:
  // a > b ? a : b, which is b if either is NaN. It is one instruction of x86.
  static constexpr bool kTakesSecond = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
  static HWY_INLINE Vector first_if_larger(Vector a, Vector b) {
    if constexpr (kTakesSecond) return hn::Max(a.lanes, b.lanes);
    else return select(a > b, a, b);
  }
  static HWY_INLINE Vector first_if_smaller(Vector a, Vector b) {
    if constexpr (kTakesSecond) return hn::Min(a.lanes, b.lanes);
    else return select(a < b, a, b);
  }
};

template <class T>
inline constexpr std::size_t kLanes = HWY_LANES(T);

template <class T>
HWY_INLINE bool any(Mask<T> mask) {
  return !hn::AllFalse(hn::ScalableTag<T>(), mask.bits);
}

template <class T>
HWY_INLINE void store(Vector<T> x, T* to) {
  hn::StoreU(x.lanes, hn::ScalableTag<T>(), to);
}
/// Stores the result of a comparison as booleans: one byte for each lane, 0 or 1.
HWY_INLINE void store(Mask<float> mask, std::uint8_t* to) {
  const hn::ScalableTag<float> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
  const hn::RebindToSigned<decltype(tag)> words;
  const auto ones = hn::IfThenElseZero(hn::RebindMask(words, mask.bits), hn::Set(words, 1));
  hn::StoreU(hn::DemoteTo(bytes, ones), bytes, to);
}
HWY_INLINE void store(Mask<double> mask, std::uint8_t* to) {
  const hn::ScalableTag<double> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
  const hn::Rebind<std::int32_t, decltype(tag)> words;
  const auto ones = hn::DemoteTo(words, hn::IfThenElseZero(mask.bits, hn::Set(tag, 1.0)));
  hn::StoreU(hn::DemoteTo(bytes, ones), bytes, to);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
