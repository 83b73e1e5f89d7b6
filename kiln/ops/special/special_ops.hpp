// Elementwise ops that are mostly too rare for vector kernels: the functions of special.def, and the greatest common
// divisor. Operands broadcast; all but one may be plain numbers.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

enum class SpecialFn : std::uint8_t {
#define KILN_SPECIAL_OF_1(Name, ...) Name,
#define KILN_SPECIAL_OF_2(Name, ...) Name,
#define KILN_SPECIAL_OF_3(Name, ...) Name,
#include "kiln/ops/special/special.def"
};

std::string_view name(SpecialFn fn);  // "bessel_j0"
/// The function of plain numbers; it ignores the parameters that it does not take.
using SpecialFunction = double (*)(double x, double y, double w);
SpecialFunction function_of(SpecialFn fn);

/// Computes a float for each element of the broadcast operands: x and, where the function has them, further parameters.
struct Special {
  static constexpr std::string_view kName = "special";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  SpecialFn fn;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The largest integer that divides both operands; 0 for two zeros. Never negative, unless the type cannot hold the
/// positive value.
struct Gcd {
  static constexpr std::string_view kName = "gcd";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

}  // namespace kiln::op
