#include "kiln/ops/elementwise/activation.hpp"

#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/reduce/point.hpp"

namespace kiln {

Value prelu(const Value& x, const Value& weight) {
  const std::int64_t count = weight.numel();
  if (count == 1) return leaky_relu(x, reshape(weight, {}));
  require<ShapeError>(weight.rank() == 1 && x.rank() >= 2 && x.dim(1) == count, "prelu: weight ", weight,
                      " has neither one element nor one for each of dimension 1 of ", x);
  Shape shape = Shape::filled(x.rank() - 1, 1);
  shape[0] = count;
  return leaky_relu(x, reshape(weight, shape));
}

Value hardtanh(const Value& x, double low, double high) {
  require<ArgumentError>(low <= high, "hardtanh: the range from ", low, " to ", high, " is empty");
  return where(le(x, low), low, where(ge(x, high), high, x));
}
Value hard_sigmoid(const Value& x, double scale, double offset) { return hardtanh(x * scale + offset, 0, 1); }

Value softplus(const Value& x, double beta, double threshold) {
  require<ArgumentError>(beta > 0, "softplus: beta must be positive, got ", beta);
  const Value scaled = x * beta;
  return where(gt(scaled, threshold), x, softplus(scaled) / beta);
}
Value threshold(const Value& x, double limit, double value) { return where(le(x, limit), value, x); }
Value shrink(const Value& any, double bound, double bias) {
  const Value x = as_float(any);  // the smallest integer has no absolute value
  require<ArgumentError>(bound >= 0, "shrink: the bound must not be negative, got ", bound);
  return where(le(abs(x), bound), 0.0, x - sign(x) * bias);
}

Value glu(const Value& x, Dim dim) {
  dim = wrap_dim("glu", dim, x.rank());
  require<ShapeError>(x.dim(dim) % 2 == 0, "glu: dimension ", dim, " of ", x, " has no two halves");
  const std::int64_t half = x.dim(dim) / 2;
  return narrow(x, dim, 0, half) * sigmoid(narrow(x, dim, half, half));
}

Value softmin(const Value& x, Dim dim) {
  if (is_point("softmin", x, dim)) return point_of(softmin(line_of(x), 0));
  return softmax(neg(as_float(x)), wrap_dim("softmin", dim, x.rank()));
}

Value quiet_softmax(const Value& any, Dim dim) {
  if (is_point("quiet_softmax", any, dim)) return point_of(quiet_softmax(line_of(any), 0));
  dim = wrap_dim("quiet_softmax", dim, any.rank());
  const Value x = as_float(any);
  if (x.numel() == 0) return x * 1.0;
  // The powers are shifted as in softmax, against overflow: the result does not depend on the shift.
  const Value peak = relu(max(x, {dim}, true)).detach();
  const Value powers = exp(x - peak);
  return powers / (exp(neg(peak)) + sum(powers, {dim}, true));
}

}  // namespace kiln
