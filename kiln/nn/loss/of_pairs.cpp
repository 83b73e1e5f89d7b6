#include "kiln/nn/loss/of_pairs.hpp"

#include "kiln/ops/linalg/vector_norm.hpp"

namespace kiln::nn {
namespace {

Value reduced(const Value& losses, Reduction reduction) {
  return reduction == Reduction::Sum ? sum(losses) : mean(losses);
}

Value contrast(const InfoNceLoss& loss, const Value& queries, const Value& keys) {
  require<ShapeError>(queries.shape() == keys.shape(), "InfoNceLoss: queries ", queries.shape(), " and keys ",
                      keys.shape(), " differ");
  require<ArgumentError>(loss.temperature > 0, "InfoNceLoss: the temperature must be positive, got ", loss.temperature);
  const Value cosines = matmul(vector_normalize(queries), transpose(vector_normalize(keys))) / loss.temperature;
  const Value places = arange(0, queries.dim(0), 1, queries.device());
  const Value each = cross_entropy_each(cosines, places);
  return loss.symmetric ? (each + cross_entropy_each(transpose(cosines), places)) / 2 : each;
}

Value prefer(const DpoLoss& loss, const Preferences& p) {
  for (const Tensor<1>* other : {&p.rejected, &p.reference_chosen, &p.reference_rejected})
    require<ShapeError>(other->shape() == p.chosen.shape(), "DpoLoss: ", other->shape(), " and ", p.chosen.shape(),
                        " differ");
  require<ArgumentError>(loss.label_smoothing >= 0 && loss.label_smoothing <= 1,
                         "DpoLoss: label_smoothing must lie between 0 and 1, got ", loss.label_smoothing);
  const Value margin =
      ((p.chosen.value() - p.reference_chosen.value()) - (p.rejected.value() - p.reference_rejected.value())) *
      loss.beta;
  const Value right = neg(log_sigmoid(margin));
  return loss.label_smoothing == 0
             ? right
             : right * (1 - loss.label_smoothing) - log_sigmoid(neg(margin)) * loss.label_smoothing;
}

}  // namespace

Tensor<1> InfoNceLoss::forward_each(const Tensor<2>& queries, const Tensor<2>& keys) const {
  return Typed{contrast(*this, queries.value(), keys.value())};
}
Tensor<0> InfoNceLoss::forward(const Tensor<2>& queries, const Tensor<2>& keys) const {
  return Typed{reduced(contrast(*this, queries.value(), keys.value()), to_one_number("InfoNceLoss", reduction))};
}

Tensor<1> DpoLoss::forward_each(const Preferences& preferences) const { return Typed{prefer(*this, preferences)}; }
Tensor<0> DpoLoss::forward(const Preferences& preferences) const {
  return Typed{reduced(prefer(*this, preferences), to_one_number("DpoLoss", reduction))};
}

}  // namespace kiln::nn
