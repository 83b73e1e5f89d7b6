#include "kiln/ops/product/linear.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/product/wider_input.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {

Value linear(const Value& x, const Value& weight, const Value& bias) {
  require<ArgumentError>(!weight.empty(),
                         "linear: the layer has no weight: it was declared and not drawn (make it by "
                         "LinearConfig{...}.init(device)), or std::move() has taken it");
  require<ArgumentError>(!x.empty(),
                         "linear: the input is an empty tensor: it was declared and never assigned, or "
                         "std::move() has taken it");
  op::require_tensor("linear", x);
  op::require_tensor("linear", weight);
  require_of<ShapeError>({&weight}, weight.rank() == 2, "linear: the weight must be [out, in], got ", weight.shape());
  const std::int64_t in = weight.dim(1), out = weight.dim(0);
  require_of<ShapeError>({&weight}, x.rank() >= 1 && x.dim(-1) == in, "linear: the last dimension of ", x.shape(),
                         " is not the layer's input size, ", in);
  require_of<ShapeError>({&bias}, bias.empty() || bias.shape() == Shape{out}, "linear: the bias ",
                         bias.empty() ? Shape{} : bias.shape(), " does not fit the weight ", weight.shape());
  watch_input("linear", x, weight);
  // All leading dimensions are merged, so that forward and backward are a single product each.
  Shape shape = x.shape();
  shape.pop_back();
  const Value rows = x.rank() == 2 ? x : reshape(x, {numel(shape), in});
  shape.push_back(out);
  // The bias is added last, so that it can be fused with the operations after it.
  const Value y = reshape(matmul(rows, transpose(weight)), shape);
  if (!bias) return y;
  // Under Autocast the product has half precision, and the sum keeps it.
  return y + (autocast_dtype() == DType::F32 ? bias : cast(bias, y.dtype()));
}

}  // namespace kiln
