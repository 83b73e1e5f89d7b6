#include "kiln/nn/regularization/weight_norm.hpp"

#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::nn::parts {

Value magnitude_of(const Value& weight, Dim dim) {
  const int axis = wrap_dim("weight_norm", dim, weight.rank());
  Dims others;
  for (int i = 0; i < weight.rank(); ++i)
    if (i != axis) others.push_back(i);
  return vector_norm(weight, 2, others, true);
}

Value weight_of(const Value& direction, const Value& magnitude, Dim dim) {
  return direction * (magnitude / magnitude_of(direction, dim));
}

Value matrix_of(const Value& weight, Dim dim) {
  const int axis = wrap_dim("spectral_norm", dim, weight.rank());
  Dims dims{axis};
  for (int i = 0; i < weight.rank(); ++i)
    if (i != axis) dims.push_back(i);
  return reshape(permute(weight, dims), {weight.dim(axis), -1});
}

Spectrum iterate(const Value& weight, Dim dim, const Value& u, const Value& v, int steps, double epsilon) {
  require<ArgumentError>(steps >= 0, "spectral_norm: the number of steps must not be negative, got ", steps);
  const Value matrix = matrix_of(weight, dim);
  const auto unit = [&](const Value& x) { return vector_normalize(x, 2, 0, epsilon); };
  const auto times = [](const Value& a, const Value& x) { return squeeze(matmul(a, unsqueeze(x, 1)), 1); };
  Value left = u, right = v;
  {
    const NoGrad pause;
    for (int i = 0; i < steps; ++i) {
      right = unit(times(transpose(matrix.detach()), left));
      left = unit(times(matrix.detach(), right));
    }
  }
  return {left, right, sum(left * times(matrix, right))};
}

}  // namespace kiln::nn::parts
