// Gradients of functions of eigenvalues and of singular values, also where some of these are equal.
//
// A function f of the eigenvalues w has the gradient v diag(g) vᵀ, where g is the gradient of f by w. The derivative of
// that rotates v by (g_j - g_i) / (w_j - w_i): 0 / 0 where two eigenvalues are equal. A function that treats them alike
// has a derivative there too: it contains the quotient's limit, a second derivative of f, which is computed through the
// tape.
#pragma once
#include "kiln/ops/vjp.hpp"

namespace kiln::op {

/// The relative difference, by the largest value, below which values are taken as equal up to rounding.
double spectrum_rounding(const Desc& a);
/// The relative difference below which quotients of differences have fewer digits than their limits.
double spectrum_closeness(const Desc& a);

/// The pairs of values [..., k] whose difference is within `tolerance` of the largest value: [..., k, k], without the
/// diagonal.
Value equal_pairs(const Value& values, double tolerance);
/// Whether any element of each matrix of conditions is true: [..., 1, 1].
Value any_in_matrix(const Value& conditions);
/// `gradient` with NaN in the matrices for which `unequal` [..., 1, 1] is true.
Value nan_where(const Value& unequal, const Value& gradient);

/// The gradient by a of a function whose gradient by the ascending eigenvalues w is g; v are the eigenvectors of a. NaN
/// where g differs between equal eigenvalues, since there is no derivative then. `slot` is that of w among the op's
/// results.
Value eigenvalue_gradient(const Backward& backward, const Value& g, const Value& w, const Value& v, int slot);
/// The gradient by a of a function of the singular values s; NaN also where g is not 0 at a singular value of 0.
Value singular_value_gradient(const Backward& backward, const Value& g, const Value& u, const Value& s, const Value& vt,
                              int slot);

}  // namespace kiln::op
