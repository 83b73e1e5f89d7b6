// Ops of single elements, of which few are done often enough to have kernels of vectors: the functions of special.def,
// and the greatest common divisor. Operands broadcast; any but one may be a plain number.
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
/// The function of plain numbers; those that it does not take are ignored.
using SpecialFunction = double (*)(double x, double y, double w);
SpecialFunction function_of(SpecialFn fn);

/// A float for each element: of the first operand and, where the function has parameters, the others.
struct Special {
  static constexpr std::string_view kName = "special";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  SpecialFn fn;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The largest integer that divides both operands; 0 of two zeros. Never negative, unless it does not fit otherwise.
struct Gcd {
  static constexpr std::string_view kName = "gcd";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::Never};
  Descs infer(Inputs in) const;
  void vjp(Backward&) const {}
};

}  // namespace kiln::op
