#include "kiln/autodiff/derivative.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

/// x itself where it is tracked, so that what it depends on stays in reach; else a leaf with its elements.
Value tracked_input(std::string_view name, const Value& x) {
  op::require_tensor(name, x);
  require<AutodiffError>(grad_enabled(), name, ": a NoGrad scope is open, in which nothing has a derivative");
  require<DTypeError>(is_float(x.dtype()), name, ": a derivative by ", x, "; only floats have any");
  return x.tracked() ? x : to_device(x, x.device().autodiff()).require_grad();
}

Value result_of(std::string_view name, FunctionOfValue f, const Value& x) {
  Value y = f(x);
  op::require_tensor(name, y);
  require<DTypeError>(is_float(y.dtype()), name, ": the function's result is ", y, "; only floats have a derivative");
  return y;
}

void require_like(std::string_view name, std::string_view what, const Value& given, const Value& x) {
  op::require_tensor(name, given);
  require<ShapeError>(given.shape() == x.shape(), name, ": the ", what, " is ", given, ", and must have the shape ",
                      x.shape());
}

/// The gradient of sum(y * seed) by x; zeros where y does not depend on it.
Value gradient(const Value& y, const Value& seed, const Value& x, const BackwardOptions& options) {
  return y.tracked() ? grad({&y, 1}, {&seed, 1}, {&x, 1}, options)[0] : zeros_like(x.detach());
}

/// The derivative of each element of y by each of x.
Value rows_of(std::string_view name, const Value& y, const Value& x, const BackwardOptions& options) {
  Shape shape = y.shape();
  require<ShapeError>(shape.size() + x.rank() <= kMaxRank, name, ": derivatives of ", y.shape(), " by ", x.shape(),
                      " have ", shape.size() + x.rank(), " dimensions, of which there are at most ", kMaxRank);
  for (const std::int64_t size : x.shape()) shape.push_back(size);
  if (numel(shape) == 0) return zeros(shape, x.device(), x.dtype());
  Values rows;
  const Value elements = flatten(y);
  for (std::int64_t i = 0; i < y.numel(); ++i) rows.push_back(gradient(at(elements, 0, i), Value(), x, options));
  return reshape(stack(rows, 0), shape);
}

}  // namespace

ValueAndDerivative jvp(FunctionOfValue f, const Value& x, const Value& direction, const BackwardOptions& options) {
  require_like("jvp", "direction", direction, x);
  const Value at = tracked_input("jvp", x);
  const Value y = result_of("jvp", f, at);
  // The gradient is a linear function of its seed; by the seed it has the derivative that is asked for.
  const Value seed = to_device(zeros_like(y.detach()), at.device().autodiff()).require_grad();
  const Value pulled = gradient(y, seed, at, {.create_graph = true});
  return {options.create_graph ? y : y.detach(), gradient(pulled, cast(direction, x.dtype()), seed, options)};
}

ValueAndDerivative vjp(FunctionOfValue f, const Value& x, const Value& seed, const BackwardOptions& options) {
  const Value at = tracked_input("vjp", x);
  const Value y = result_of("vjp", f, at);
  require_like("vjp", "seed", seed, y);
  return {options.create_graph ? y : y.detach(), gradient(y, cast(seed, y.dtype()), at, options)};
}

Value jacobian(FunctionOfValue f, const Value& x, const BackwardOptions& options) {
  const Value at = tracked_input("jacobian", x);
  return rows_of("jacobian", result_of("jacobian", f, at), at, options);
}

Value hessian(FunctionOfValue f, const Value& x, const BackwardOptions& options) {
  const Value at = tracked_input("hessian", x);
  const Value y = result_of("hessian", f, at);
  require<ShapeError>(y.rank() == 0, "hessian: the function's result is ", y, ", and must be of rank 0");
  return rows_of("hessian", gradient(y, Value(), at, {.create_graph = true}), at, options);
}

}  // namespace kiln
