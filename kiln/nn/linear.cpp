#include "kiln/nn/linear.hpp"

#include <algorithm>

namespace kiln::nn {

Value linear(const Value& x, const Value& weight, const Value& bias) {
  const std::int64_t in = weight.dim(1), out = weight.dim(0);
  require<ShapeError>(x.rank() >= 1 && x.dim(-1) == in, "linear: the last dimension of ", x.shape(),
                      " is not the layer's input size, ", in);
  // All leading dimensions become one: a single product, forward and backward.
  Shape shape = x.shape();
  const Value rows = x.rank() == 2 ? x : reshape(x, {numel(shape) / std::max<std::int64_t>(in, 1), in});
  Value y = matmul(rows, transpose(weight));
  if (bias) y = y + bias;
  shape.back() = out;
  return x.rank() == 2 ? y : reshape(y, shape);
}

Linear LinearConfig::init(const Device& device) const {
  require<ArgumentError>(in > 0 && out > 0, "LinearConfig: in = ", in, " and out = ", out, " must be positive");
  const Fans fans{in, out};
  Linear layer;
  layer.weight = Param<2>(initialize(initializer, {out, in}, fans, device));
  if (bias) layer.bias = Param<1>(initialize(kLayerDefault, {out}, fans, device));
  return layer;
}

}  // namespace kiln::nn
