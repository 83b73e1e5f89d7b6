// The rows of elementwise.def as functions over contiguous runs.
#pragma once
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "kiln/core/convert.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"

namespace kiln::cpu::simd {

/// z[i] = f(x[i * step]) for n elements. z holds T, or one byte a boolean. A constant (step 0) fills 64 bytes.
template <class T>
using UnaryBlock = void (*)(const T* x, std::size_t x_step, void* z, std::size_t n);
template <class T>
using BinaryBlock = void (*)(const T* x, std::size_t x_step, const T* y, std::size_t y_step, void* z, std::size_t n);

/// The function for the machine at hand; null where the row is not computed in T (float, double and the integers of up to
/// 64 bits but uint32 and uint64; uint8 stands for booleans too). Of halves those rows that are a few instructions long.
template <class T> UnaryBlock<T> unary_block(op::UnaryFn fn);
template <class T> BinaryBlock<T> binary_block(op::BinaryFn fn);

/// 1 / divisor where multiplying by it gives the same bits as dividing, at a tenth of the price: for powers of two.
inline std::optional<double> exact_inverse(const Scalar& divisor) {
  int exponent = 0;
  const double number = divisor.to<double>();
  if (std::abs(std::frexp(number, &exponent)) != 0.5 || std::abs(exponent) > 100) return std::nullopt;
  return 1 / number;
}

/// Is a function computed in T?
template <class T>
constexpr bool computes(op::Domain domain) {
  return domain == op::Domain::Any || domain == op::Domain::Number ||
         domain == (std::is_floating_point_v<T> || is_half<T> ? op::Domain::Float : op::Domain::Integer) ||
         (domain == op::Domain::Bool && sizeof(T) == 1);
}

// A row's text tells its price.
constexpr bool mentions_any(std::string_view expression, std::initializer_list<std::string_view> calls) {
  for (const std::string_view call : calls)
    if (expression.find(call) != std::string_view::npos) return true;
  return false;
}
/// Long code, with branches or a lane at a time.
constexpr bool is_long(std::string_view expression) {
  return mentions_any(expression, {"log", "sin", "cos", "tan(", "atan", "erfc", "erfinv", "pow", "hypot", "mod(",
                                   "remainder(", "gamma(", "i0(", "i1("});
}
/// More than a few instructions. Exponentials and their like are some twenty.
constexpr bool is_costly(std::string_view expression) {
  return is_long(expression) || mentions_any(expression, {"exp", "tanh", "erf"});
}

}  // namespace kiln::cpu::simd
