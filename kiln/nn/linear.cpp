#include "kiln/nn/linear.hpp"

#include "kiln/ops/scope/scope.hpp"

namespace kiln::nn {

Linear LinearConfig::init(const Device& device) const {
  require<ArgumentError>(in > 0 && out > 0, "LinearConfig: in = ", in, " and out = ", out, " must be positive");
  const Fans fans{in, out};
  Linear layer;
  layer.weight = Param<2>(initialize(initializer, {out, in}, fans, device));
  if (bias) layer.bias = Param<1>(initialize(kLayerDefault, {out}, fans, device));
  return layer;
}

Value Bilinear::apply(const Value& a, const Value& b) const {
  Shape left = a.shape(), right = b.shape();
  const bool fits =
      !left.empty() && left.size() == right.size() && left.back() == weight.dim(1) && right.back() == weight.dim(2);
  if (fits) left.back() = right.back() = weight.dim(0);
  require_of<ShapeError>({&weight.value()}, fits && left == right, "Bilinear: ", a.shape(), " and ", b.shape(),
                         " do not fit the weight ", weight.shape(), ", which is [out, in_a, in_b]");
  const std::int64_t rows = a.numel() / weight.dim(1);
  // [out, rows, in_b]: each output's matrix times a; then each row times its own b.
  const Value turned = matmul(unsqueeze(reshape(a, {rows, weight.dim(1)}), 0), weight.value());
  const Value y = transpose(sum(turned * unsqueeze(reshape(b, {rows, weight.dim(2)}), 0), {2}), 0, 1);
  return reshape(bias.empty() ? y : y + bias.value(), left);
}

Bilinear BilinearConfig::init(const Device& device) const {
  require<ArgumentError>(in_a > 0 && in_b > 0 && out > 0, "BilinearConfig: in_a = ", in_a, ", in_b = ", in_b,
                         " and out = ", out, " must be positive");
  const Fans fans{in_a, out};
  Bilinear layer;
  layer.weight = Param<3>(initialize(initializer, {out, in_a, in_b}, fans, device));
  if (bias) layer.bias = Param<1>(initialize(kLayerDefault, {out}, fans, device));
  return layer;
}

}  // namespace kiln::nn
