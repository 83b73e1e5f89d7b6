#include "kiln/backend/gpu/kernel/lower/pair.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::gpu::lower {
namespace {

Expr word(const Expr& like, std::uint32_t value) { return like.builder().literal(DType::U32, std::int64_t{value}); }
Expr as_signed(const Expr& word) { return word.bits_as(DType::I32); }
/// All ones where the word, as an int32, is negative; otherwise 0.
Expr sign_of(const Expr& word) { return (as_signed(word) >> 31).bits_as(DType::U32); }
bool is_zero(const Expr& x) { return x.id() == word(x, 0).id(); }

Pair plus(const Pair& x, const Pair& y) {
  const Expr low = x.low + y.low;
  return {low, x.high + y.high + (low < x.low).as(DType::U32)};
}
Pair minus(const Pair& x, const Pair& y) { return {x.low - y.low, x.high - y.high - (x.low < y.low).as(DType::U32)}; }
Pair negated(const Pair& x) { return minus({word(x.low, 0), word(x.low, 0)}, x); }

Pair times(const Pair& x, const Pair& y) {
  Builder& k = x.low.builder();
  const bool nothing = is_zero(x.low) || is_zero(y.low);
  const Expr carried = nothing ? word(x.low, 0) : k.call("multiply_high", DType::U32, {x.low, y.low});
  return {x.low * y.low, carried + x.low * y.high + x.high * y.low};
}

/// Shifts by less than 64.
Pair shifted_left(const Pair& x, const Expr& by) {
  const Expr rest = by & 31, across = (x.low >> 1) >> (word(by, 31) - rest), low = x.low << rest;
  const Expr far = by >= 32;
  return {select(far, word(by, 0), low), select(far, low, (x.high << rest) | across)};
}
Pair shifted_right(const Pair& x, const Expr& by, bool is_signed) {
  const Expr rest = by & 31, across = (x.high << 1) << (word(by, 31) - rest);
  const Expr high = is_signed ? (as_signed(x.high) >> as_signed(rest)).bits_as(DType::U32) : x.high >> rest;
  const Expr far = by >= 32;
  return {select(far, high, (x.low >> rest) | across), select(far, is_signed ? sign_of(x.high) : word(by, 0), high)};
}
/// A shift by 64 or more, or by less than 0, gives 0.
Pair shifted(Arithmetic op, bool is_signed, const Pair& x, const Pair& by) {
  const Pair made = op == Arithmetic::ShiftLeft ? shifted_left(x, by.low) : shifted_right(x, by.low, is_signed);
  const Expr zero = word(by.low, 0);
  return select((by.high == 0) & (by.low < 64), made, {zero, zero});
}

struct Quotient {
  Pair quotient, rest;
};

/// One step of long division for each bit of the lower word: after the upper word nothing is left that the divisor's
/// words could not hold. By 0 all is 0, as in arithmetic.hpp.
Quotient divided(const Pair& x, const Pair& by) {
  Builder& k = x.low.builder();
  const Expr nothing = (by.low | by.high) == 0;
  const Pair y{select(nothing, word(x.low, 1), by.low), by.high};
  const Expr zero = word(x.low, 0);
  const Local low = k.variable(zero), high = k.variable(zero), rest_low = k.variable(zero),
              rest_high = k.variable(zero);
  k.when((x.high | y.high) == 0,
         [&] {
           low.set(x.low / y.low);
           rest_low.set(x.low % y.low);
         },
         [&] {
           low.set(x.low);
           rest_low.set(x.high);
           k.when(y.high == 0, [&] {
             high.set(x.high / y.low);
             rest_low.set(x.high % y.low);
           });
           k.loop(k.literal(DType::I32, 0), k.literal(DType::I32, 32), k.literal(DType::I32, 1), [&](const Expr&) {
             const Pair rest{(rest_low.get() << 1) | (low.get() >> 31),
                             (rest_high.get() << 1) | (rest_low.get() >> 31)};
             const Expr fits = compare_pairs(Arithmetic::LessEqual, false, y, rest);
             const Pair less = select(fits, minus(rest, y), rest);
             low.set((low.get() << 1) | fits.as(DType::U32));
             rest_low.set(less.low);
             rest_high.set(less.high);
           });
         });
  const Pair none = pair_of(k, 0);
  return {select(nothing, none, {low, high}), select(nothing, none, {rest_low, rest_high})};
}

Pair quotient_of(Arithmetic op, bool is_signed, const Pair& x, const Pair& y) {
  if (!is_signed) {
    const Quotient all = divided(x, y);
    return op == Arithmetic::Divide ? all.quotient : all.rest;
  }
  const Expr x_negative = as_signed(x.high) < 0, y_negative = as_signed(y.high) < 0;
  const Quotient all = divided(select(x_negative, negated(x), x), select(y_negative, negated(y), y));
  if (op == Arithmetic::Remainder) return select(x_negative, negated(all.rest), all.rest);
  return select(x_negative != y_negative, negated(all.quotient), all.quotient);
}

// ---- floats --------------------------------------------------------------------------------------------------------

constexpr double kWord = 4294967296.0;

/// The integer part of a float; too large ones give the nearest limit, and NaN gives 0.
Pair pair_of_float(const Expr& x, bool is_signed) {
  Builder& k = x.builder();
  const double beyond = is_signed ? kWord * kWord / 2 : kWord * kWord;
  const Expr size = select(x < 0.0, -x, x);
  // The upper word has no more digits than x, so that the difference is exact.
  const Expr high = (size * (1 / kWord)).as(DType::U32), low = (size - high.as(x.type()) * kWord).as(DType::U32);
  const Pair whole{low, high}, zero = pair_of(k, 0);
  const Pair most = pair_of(k, is_signed ? ~std::uint64_t{0} >> 1 : ~std::uint64_t{0});
  const Pair least = pair_of(k, is_signed ? std::uint64_t{1} << 63 : 0);
  Pair made = is_signed ? select(x < 0.0, negated(whole), whole) : select(x <= 0.0, zero, whole);
  if (is_signed) made = select(x <= -beyond, least, made);
  made = select(x >= beyond, most, made);
  return select(k.call("is_nan", x.type(), {x}), zero, made);
}

/// Rounds to nearest, once: an upper word that begins with a bit that is set, and whose last bit tells whether any
/// further bit is, rounds like all of them.
Expr float32_of(const Pair& x) {
  Pair bits = x;
  Expr exponent = word(x.low, 32 + 127);
  for (const int step : {16, 8, 4, 2, 1}) {
    const Expr small = bits.high < (std::int64_t{1} << (32 - step));
    const Pair moved{bits.low << step, (bits.high << step) | (bits.low >> (32 - step))};
    bits = select(small, moved, bits);
    exponent = exponent - select(small, word(x.low, static_cast<std::uint32_t>(step)), word(x.low, 0));
  }
  const Expr top = bits.high | (bits.low != 0).as(DType::U32);
  const Expr wide = top.as(DType::F32) * (exponent << 23).bits_as(DType::F32);
  return select(x.high == 0, x.low.as(DType::F32), wide);
}

Expr float_of(const Pair& x, bool is_signed, DType to) {
  if (to == DType::F64) {
    const Expr high = is_signed ? as_signed(x.high).as(to) : x.high.as(to);
    return high * kWord + x.low.as(to);
  }
  if (!is_signed) return float32_of(x);
  const Expr negative = as_signed(x.high) < 0, size = float32_of(select(negative, negated(x), x));
  return select(negative, -size, size);
}

}  // namespace

Pair pair_of(Builder& k, std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  return {k.literal(DType::U32, std::int64_t{low}), k.literal(DType::U32, std::int64_t{high})};
}

Pair select(const Expr& condition, const Pair& yes, const Pair& no) {
  return {select(condition, yes.low, no.low), select(condition, yes.high, no.high)};
}

Pair compute_pair(Arithmetic op, bool is_signed, const Pair& x, const Pair& y) {
  using enum Arithmetic;
  switch (op) {
    case Negate: return negated(x);
    case Not: return {!x.low, !x.high};
    case Add: return plus(x, y);
    case Subtract: return minus(x, y);
    case Multiply: return times(x, y);
    case Divide:
    case Remainder: return quotient_of(op, is_signed, x, y);
    case Minimum: return select(compare_pairs(Less, is_signed, y, x), y, x);
    case Maximum: return select(compare_pairs(Less, is_signed, x, y), y, x);
    case ShiftLeft:
    case ShiftRight: return shifted(op, is_signed, x, y);
    default: return {compute(op, x.low, y.low), compute(op, x.high, y.high)};
  }
}

Expr compare_pairs(Arithmetic op, bool is_signed, const Pair& x, const Pair& y) {
  using enum Arithmetic;
  if (op == Equal) return (x.low == y.low) & (x.high == y.high);
  if (op == NotEqual) return (x.low != y.low) | (x.high != y.high);
  const Expr above = is_signed ? as_signed(x.high) < as_signed(y.high) : x.high < y.high;
  return above | ((x.high == y.high) & compute(op, x.low, y.low));
}

Pair cast_to_pair(const Expr& x, bool is_signed) {
  if (is_float(x.type())) return pair_of_float(x, is_signed);
  if (x.type() == DType::I32) {
    const Expr low = x.bits_as(DType::U32);
    return {low, sign_of(low)};
  }
  const Expr low = x.as(DType::U32);
  return {low, word(low, 0)};
}

Expr cast_from_pair(const Pair& x, bool is_signed, DType to) {
  if (to == DType::Bool) return (x.low | x.high) != 0;
  if (is_float(to)) return float_of(x, is_signed, to);
  return x.low.bits_as(to);
}

}  // namespace kiln::gpu::lower
