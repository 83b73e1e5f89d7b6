// Of functions that are known at some points: differences, integrals and what lies between.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Each element along `dim` minus the one before it, n times over; of booleans, whether they differ. `prepend` and
/// `append`, numbers or tensors, are joined to x first.
Value diff(const Value& x, int n = 1, Dim dim = -1, const Value& prepend = {}, const Value& append = {});

/// The derivative along each of `dims` (empty: all of them) of a function whose values y lie `spacing` apart: by central
/// differences, and at both ends by one-sided ones of order `edge_order`, 1 or 2. Exact for parabolas, but for ends of
/// order 1.
Values gradient(const Value& y, double spacing = 1, const Dims& dims = {}, int edge_order = 1);
/// Along one dimension, of values at the places x [n], which differ.
Value gradient(const Value& y, const Value& x, Dim dim, int edge_order = 1);

/// The integral along `dim` by the trapezoidal rule, of points `spacing` apart or at the places x, [n] or of y's shape.
Value trapezoid(const Value& y, double spacing = 1, Dim dim = -1);
Value trapezoid(const Value& y, const Value& x, Dim dim = -1);
/// The integrals up to each point but the first.
Value cumulative_trapezoid(const Value& y, double spacing = 1, Dim dim = -1);
Value cumulative_trapezoid(const Value& y, const Value& x, Dim dim = -1);

/// The piecewise linear function through the points (xs[i], ys[i]), xs ascending, at each element of x. Outside it is
/// `left` and `right`, or else the first and the last of ys.
Value interp(const Value& x, const Value& xs, const Value& ys, const Value& left = {}, const Value& right = {});

}  // namespace kiln
