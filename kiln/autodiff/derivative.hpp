// Derivatives of functions of one tensor: along a direction, against a direction, and whole matrices of them. Each
// calls the function once. A function of several tensors is one of the first when the lambda captures the others.
//
// x need not be tracked; where it is, {.create_graph = true} makes the results differentiable by what x depends on.
// Under NoGrad all of them throw AutodiffError.
#pragma once
#include "kiln/autodiff/backward.hpp"

namespace kiln {

using FunctionOfValue = FunctionRef<Value(const Value&)>;

struct ValueAndDerivative {
  Value value, derivative;
};

/// f(x), and the derivative of f(x + t * direction) by t at 0, which has the shape of f(x). It is the derivative of a
/// gradient by its seed, so each operation needs a second derivative. Throws ShapeError unless `direction` is like x.
ValueAndDerivative jvp(FunctionOfValue f, const Value& x, const Value& direction, const BackwardOptions& options = {});
/// f(x), and the gradient of sum(f(x) * seed) by x. Throws ShapeError unless `seed` is like f(x).
ValueAndDerivative vjp(FunctionOfValue f, const Value& x, const Value& seed, const BackwardOptions& options = {});
/// The derivative of each element of f(x) by each of x: [shape of f(x)..., shape of x...], by one backward pass for
/// each element of f(x). Throws ShapeError where that has more than 8 dimensions.
Value jacobian(FunctionOfValue f, const Value& x, const BackwardOptions& options = {});
/// The second derivatives of f(x), of rank 0: [shape of x..., shape of x...], by one backward pass for each element of
/// x. Throws ShapeError for another result.
Value hessian(FunctionOfValue f, const Value& x, const BackwardOptions& options = {});

}  // namespace kiln
