// The functions of elementwise.def over contiguous elements.
#pragma once
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "kiln/core/convert.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"

namespace kiln::cpu::simd {

/// z[i] = f(x[i * x_step]) for n elements. z holds T, or booleans of one byte. A step is 1, or 0 for a constant, of
/// which 64 bytes are filled.
template <class T>
using UnaryBlock = void (*)(const T* x, std::size_t x_step, void* z, std::size_t n);
template <class T>
using BinaryBlock = void (*)(const T* x, std::size_t x_step, const T* y, std::size_t y_step, void* z, std::size_t n);

/// Returns the function for the instruction set of this machine, or null if the function is not computed in T. T is
/// float, double, an integer other than uint32 and uint64 (uint8 also computes booleans), or a half type, in which only
/// functions of a few instructions are computed.
template <class T> UnaryBlock<T> unary_block(op::UnaryFn fn);
template <class T> BinaryBlock<T> binary_block(op::BinaryFn fn);

/// Returns 1 / divisor if multiplying by it gives the same bits as dividing, which is true for powers of two. A
/// multiplication costs a tenth of a division.
inline std::optional<double> exact_inverse(const Scalar& divisor) {
  int exponent = 0;
  const double number = divisor.to<double>();
  if (std::abs(std::frexp(number, &exponent)) != 0.5 || std::abs(exponent) > 100) return std::nullopt;
  return 1 / number;
}

/// Returns whether a function of this domain is computed in T.
template <class T>
constexpr bool computes(op::Domain domain) {
  return domain == op::Domain::Any || domain == op::Domain::Number ||
         domain == (std::is_floating_point_v<T> || kiln::is_half<T> ? op::Domain::Float : op::Domain::Integer) ||
         (domain == op::Domain::Bool && sizeof(T) == 1);
}

// Estimate the cost of a function from the text of its expression.
constexpr bool mentions_any(std::string_view expression, std::initializer_list<std::string_view> calls) {
  for (const std::string_view call : calls)
    if (expression.find(call) != std::string_view::npos) return true;
  return false;
}
/// Returns whether the code of the function is long, has branches or computes one lane at a time.
constexpr bool is_long(std::string_view expression) {
  return mentions_any(expression, {"log", "sin", "cos", "tan(", "atan", "erfc", "erfinv", "pow", "hypot", "mod(",
                                   "remainder(", "gamma(", "i0(", "i1("});
}
/// Returns whether the function takes more than a few instructions. An exponential takes about twenty.
constexpr bool is_costly(std::string_view expression) {
  return is_long(expression) || mentions_any(expression, {"exp", "tanh", "erf"});
}

}  // namespace kiln::cpu::simd
