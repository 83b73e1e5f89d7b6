#include "kiln/compile/literal.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace kiln::compile {
namespace {

template <class T>
std::string shortest(T number) {
  char digits[64];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

std::string float_literal(double number, bool is_double) {
  if (std::isnan(number)) return is_double ? "((double)NAN)" : "NAN";
  const bool negative = std::signbit(number);
  std::string digits = std::isinf(number) ? "INFINITY"
                       : is_double        ? shortest(std::fabs(number))
                                          : shortest(static_cast<float>(std::fabs(number)));
  if (!std::isinf(number)) {
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    if (!is_double) digits += 'f';
  }
  return negative ? text("(-", digits, ")") : digits;
}

}  // namespace

std::string literal(expr::Printer& printer, const Scalar& number, DType dtype) {
  if (is_float(dtype)) {
    double rounded = 0;
    visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      rounded = static_cast<double>(number.to<T>());
    });
    return float_literal(rounded, dtype == DType::F64);
  }
  std::int64_t whole = 0;
  visit_dtype(dtype, [&](auto tag) { whole = static_cast<std::int64_t>(number.to<typename decltype(tag)::type>()); });
  if (dtype == DType::U64) return printer.literal(text(static_cast<std::uint64_t>(whole)), dtype);
  if (whole == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
  const std::string digits = printer.literal(text(whole < 0 ? -whole : whole), dtype);
  return whole < 0 ? text("(-", digits, ")") : digits;
}

}  // namespace kiln::compile
