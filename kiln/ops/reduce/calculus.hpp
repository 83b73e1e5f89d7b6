// Functions that are known at some points: differences, derivatives, integrals and interpolation.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Subtracts from each element along `dim` the one before it, n times over; for booleans it tells whether they differ.
/// `prepend` and `append`, numbers or tensors, are joined to x first.
Value diff(const Value& x, int n = 1, Dim dim = -1, const Value& prepend = {}, const Value& append = {});

/// The derivative along each of `dims` (empty: all) of a function with values y at points `spacing` apart: central
/// differences, and one-sided ones of order `edge_order`, 1 or 2, at both ends. Exact for parabolas, except at ends of
/// order 1.
Values gradient(const Value& y, double spacing = 1, const Dims& dims = {}, int edge_order = 1);
/// The derivative along one dimension, for values at the positions x [n], which must differ.
Value gradient(const Value& y, const Value& x, Dim dim, int edge_order = 1);

/// The integral along `dim` by the trapezoidal rule, with points `spacing` apart or at the positions x, [n] or of y's
/// shape.
Value trapezoid(const Value& y, double spacing = 1, Dim dim = -1);
Value trapezoid(const Value& y, const Value& x, Dim dim = -1);
/// The integrals up to each point except the first.
Value cumulative_trapezoid(const Value& y, double spacing = 1, Dim dim = -1);
Value cumulative_trapezoid(const Value& y, const Value& x, Dim dim = -1);

/// The piecewise linear function through the points (xs[i], ys[i]), xs ascending, at each element of x. Outside of xs
/// it is `left` and `right`, or else the first and the last of ys.
Value interp(const Value& x, const Value& xs, const Value& ys, const Value& left = {}, const Value& right = {});

}  // namespace kiln
