#include <cmath>

#include "kiln/ops/special/functions.hpp"

namespace kiln::special {

double frexp_mantissa(double x) {
  int exponent = 0;
  return x == 0 || !(std::abs(x) < kInfinity) ? x : std::frexp(x, &exponent);
}
double frexp_exponent(double x) {
  int exponent = 0;
  if (std::abs(x) < kInfinity) std::frexp(x, &exponent);
  return exponent;
}

double next_number(double x, double y, double digits) {
  if (digits == 53) return std::nextafter(x, y);
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  // Doubles hold the numbers of the smaller types and the differences between them.
  const int fraction = static_cast<int>(digits) - 1;
  const int smallest = (fraction == 10 ? -14 : -126) - fraction, largest = fraction == 10 ? 15 : 127;
  if (x == 0) return std::copysign(std::ldexp(1, smallest), y);
  const double size = std::abs(x);
  if (size == kInfinity) return std::copysign(std::ldexp(2 - std::ldexp(1, -fraction), largest), x);
  const bool outward = (y > x) == (x > 0);
  int mantissa_exponent = 0;
  const bool power_of_two = std::frexp(size, &mantissa_exponent) == 0.5;
  const int spacing = mantissa_exponent - 1 - fraction - (power_of_two && !outward);
  const double step = std::ldexp(1, spacing < smallest ? smallest : spacing);
  return std::copysign(outward ? size + step : size - step, x);
}

}  // namespace kiln::special
