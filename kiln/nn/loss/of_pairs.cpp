#include "kiln/nn/loss/of_pairs.hpp"

#include "kiln/ops/linalg/vector_norm.hpp"

namespace kiln::nn {
namespace {

Value contrast(const InfoNceLoss& loss, const Value& queries, const Value& keys) {
  require<ShapeError>(queries.shape() == keys.shape(), "InfoNceLoss: queries ", queries.shape(), " and keys ",
                      keys.shape(), " differ");
  require<ArgumentError>(loss.temperature > 0, "InfoNceLoss: the temperature must be positive, got ", loss.temperature);
  const Value cosines = matmul(vector_normalize(queries), transpose(vector_normalize(keys))) / loss.temperature;
  const Value places = arange(0, queries.dim(0), 1, queries.device());
  const Value each = cross_entropy_each(cosines, places);
  return loss.symmetric ? (each + cross_entropy_each(transpose(cosines), places)) / 2 : each;
}

}  // namespace

Tensor<1> InfoNceLoss::forward_each(const Tensor<2>& queries, const Tensor<2>& keys) const {
  return Typed{contrast(*this, queries.value(), keys.value())};
}
Tensor<0> InfoNceLoss::forward(const Tensor<2>& queries, const Tensor<2>& keys) const {
  return Typed{reduced(contrast(*this, queries.value(), keys.value()), to_one_number("InfoNceLoss", reduction))};
}

}  // namespace kiln::nn
