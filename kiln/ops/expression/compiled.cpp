#include "kiln/ops/expression/compiled.hpp"

#include <bit>
#include <map>

#include "kiln/core/convert.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

namespace kiln::expr {
namespace {

template <class T>
using Table = std::map<std::string_view, Compiled<T>>;

template <class T> Cell<T> number(T value) { return {.number = value}; }
template <class T> Cell<T> word(std::uint32_t value) { return {.word = value}; }

#define KILN_ONE(name) {#name, [](const Cell<T>* in) { return number<T>(scalar_math::name(in[0].number)); }}
#define KILN_TWO(name) \
  {#name, [](const Cell<T>* in) { return number<T>(scalar_math::name(in[0].number, in[1].number)); }}
#define KILN_ASK(name) {#name, [](const Cell<T>* in) { return word<T>(scalar_math::name(in[0].number)); }}

/// The functions that every type has.
template <class T>
Table<T> common() {
  using Limits = std::numeric_limits<T>;
  return {
      KILN_ONE(abs),
      KILN_ONE(sign),
      KILN_ONE(floor),
      KILN_ONE(ceil),
      KILN_ONE(trunc),
      KILN_ONE(round),
      KILN_TWO(max),
      KILN_TWO(min),
      KILN_TWO(floor_divide),
      KILN_TWO(remainder),
      KILN_TWO(fmod),
      KILN_TWO(pow),
      KILN_ASK(sign_bit),
      {"lowest", [](const Cell<T>*) { return number(Limits::has_infinity ? -Limits::infinity() : Limits::min()); }},
      {"highest", [](const Cell<T>*) { return number(Limits::has_infinity ? Limits::infinity() : Limits::max()); }},
      {"to_number", [](const Cell<T>* in) { return number(static_cast<T>(in[0].word)); }},
      {"to_word", [](const Cell<T>* in) { return word<T>(static_cast<std::uint32_t>(in[0].number)); }},
      {"multiply_high",
       [](const Cell<T>* in) {
         return word<T>(static_cast<std::uint32_t>(std::uint64_t{in[0].word} * in[1].word >> 32));
       }},
  };
}

/// What floats alone have.
template <class T>
Table<T> of_floats() {
  using Limits = std::numeric_limits<T>;
  return {
      KILN_ONE(sqrt),
      KILN_ONE(exp),
      KILN_ONE(exp2),
      KILN_ONE(expm1),
      KILN_ONE(log),
      KILN_ONE(log2),
      KILN_ONE(log10),
      KILN_ONE(log1p),
      KILN_ONE(sin),
      KILN_ONE(cos),
      KILN_ONE(tan),
      KILN_ONE(asin),
      KILN_ONE(acos),
      KILN_ONE(atan),
      KILN_ONE(sinh),
      KILN_ONE(cosh),
      KILN_ONE(tanh),
      KILN_ONE(asinh),
      KILN_ONE(acosh),
      KILN_ONE(atanh),
      KILN_ONE(erf),
      KILN_ONE(erfc),
      KILN_ONE(erfinv),
      KILN_ONE(lgamma),
      KILN_ONE(digamma),
      KILN_ONE(i0),
      KILN_ONE(i1),
      KILN_ONE(sinc),
      KILN_TWO(atan2),
      KILN_TWO(hypot),
      KILN_TWO(copysign),
      KILN_TWO(polygamma),
      KILN_ASK(is_nan),
      KILN_ASK(is_inf),
      KILN_ASK(is_finite),
      {"infinity", [](const Cell<T>*) { return number(Limits::infinity()); }},
      {"nan", [](const Cell<T>*) { return number(Limits::quiet_NaN()); }},
  };
}

template <class T>
Table<T> table() {
  Table<T> result = common<T>();
  if constexpr (std::is_integral_v<T>) {
    result.insert({KILN_TWO(shift_left), KILN_TWO(shift_right), {"width", [](const Cell<T>*) {
                                                                   return number(static_cast<T>(sizeof(T) * 8));
                                                                 }}});
  } else {
    result.merge(of_floats<T>());
    if constexpr (sizeof(T) == 8) {
      result["bits_of_float"] = [](const Cell<T>* in) {
        return word<T>(std::bit_cast<std::uint32_t>(convert<float>(in[0].number)));
      };
      result["from_bits_of_float"] = [](const Cell<T>* in) {
        return number(static_cast<T>(std::bit_cast<float>(in[0].word)));
      };
    } else {
      result["bits"] = [](const Cell<T>* in) { return word<T>(std::bit_cast<std::uint32_t>(in[0].number)); };
      result["from_bits"] = [](const Cell<T>* in) { return number(std::bit_cast<T>(in[0].word)); };
    }
  }
  return result;
}
#undef KILN_ONE
#undef KILN_TWO
#undef KILN_ASK

}  // namespace

template <class T>
Compiled<T> compiled(const Function& function) {
  static const std::map<const Function*, Compiled<T>> kTable = [] {
    std::map<const Function*, Compiled<T>> result;
    for (const auto& [name, pointer] : table<T>()) result[find_function(name)] = pointer;
    return result;
  }();
  const auto found = kTable.find(&function);
  return found == kTable.end() ? nullptr : found->second;
}

template Compiled<double> compiled(const Function&);
template Compiled<float> compiled(const Function&);
template Compiled<std::int64_t> compiled(const Function&);
template Compiled<std::uint64_t> compiled(const Function&);
template Compiled<std::int32_t> compiled(const Function&);
template Compiled<std::uint32_t> compiled(const Function&);

}  // namespace kiln::expr
