// Gradients of functions of eigenvalues and of singular values, where some of these are equal too.
//
// A function f of the eigenvalues w has the gradient v diag(g) vᵀ, g its slopes by w. The derivative of that turns v by
// (g_j - g_i) / (w_j - w_i): 0 / 0 where two eigenvalues are equal, though a function that treats them alike has a
// derivative there, in which the quotient's limit stands, f's second derivative. That is asked of the tape.
#pragma once
#include "kiln/ops/vjp.hpp"

namespace kiln::op {

/// Relative to the largest: values that differ by less are equal but for rounding.
double rounding_of_spectrum(const Desc& a);
/// And quotients of differences below this one have fewer digits than their limits.
double close_in_spectrum(const Desc& a);

/// Which pairs of values [..., k] are equal but for rounding, or, `close`, too close for quotients: [..., k, k], without
/// the diagonal.
Value equal_pairs(const Value& values, double tolerance);
/// Whether any element of a matrix of conditions is true: [..., 1, 1].
Value any_in_matrix(const Value& conditions);
/// NaN for the matrices of which `torn` [..., 1, 1] is true.
Value nan_where(const Value& torn, const Value& gradient);

/// The gradient by a of what has the slopes g by the ascending eigenvalues w = a's of vectors v. NaN where g treats equal
/// ones unlike, since they have no derivative then. `slot` is that of w among the op's results.
Value slope_of_eigenvalues(const Backward& backward, const Value& g, const Value& w, const Value& v, int slot);
/// The same of singular values; NaN too where g is not 0 at one that is.
Value slope_of_singular_values(const Backward& backward, const Value& g, const Value& u, const Value& s,
                               const Value& vt, int slot);

}  // namespace kiln::op
