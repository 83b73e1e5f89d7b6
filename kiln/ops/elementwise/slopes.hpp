// Slopes that rows of elementwise.def name, besides those of functions.hpp.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

Value pow_log(const Value& x, const Value& y, const Value& z);  // d z / dy for z = pow(x, y)
Value xlogy_y_derivative(const Value& x, const Value& y);       // d xlogy(x, y) / dy
Value angle_slope(const Value& x, const Value& y);              // y / (x^2 + y^2)
Value hypot_slope(const Value& x, const Value& z);              // x / z for z = hypot(x, y)
Value logaddexp_slope(const Value& x, const Value& y);          // d logaddexp(x, y) / dx

}  // namespace kiln
