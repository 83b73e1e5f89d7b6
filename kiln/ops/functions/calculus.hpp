// Of functions that are known at some points: differences, integrals and what lies between.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Each element along `dim` minus the one before it, n times over; of booleans, whether they differ. `prepend` and
/// `append`, numbers or tensors, are joined to x first.
Value diff(const Value& x, int n = 1, int dim = -1, const Value& prepend = {}, const Value& append = {});

/// The integral along `dim` by the trapezoidal rule, of points `spacing` apart or at the places x, [n] or of y's shape.
Value trapezoid(const Value& y, double spacing = 1, int dim = -1);
Value trapezoid(const Value& y, const Value& x, int dim = -1);
/// The integrals up to each point but the first.
Value cumulative_trapezoid(const Value& y, double spacing = 1, int dim = -1);
Value cumulative_trapezoid(const Value& y, const Value& x, int dim = -1);

/// The piecewise linear function through the points (xs[i], ys[i]), xs ascending, at each element of x. Outside it is
/// `left` and `right`, or else the first and the last of ys.
Value interp(const Value& x, const Value& xs, const Value& ys, const Value& left = {}, const Value& right = {});

}  // namespace kiln
