// Losses of classes.
#include "kiln/ops/loss/loss.hpp"

#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

Value likelihood_loss(const Call& c, const Value& log_probabilities, const Value& targets, const Value& weights) {
  const std::string how = c.word("reduction", "mean", {"mean", "sum", "none"});
  NllOptions options;
  if (!weights.empty()) options.weights = weights;
  if (c.given("ignore_index")) options.ignore = c.i("ignore_index", 0);
  const Reduction reduction = how == "mean" ? Reduction::Mean : how == "sum" ? Reduction::Sum : Reduction::None;
  return nll_loss(log_probabilities, of_type(targets, DType::I64), options, reduction);
}

Results softmax_cross_entropy(Call& c) {
  const Value log_probabilities = log_softmax(c[0], 1);
  return {likelihood_loss(c, log_probabilities, c[1], c.get(2)), log_probabilities};
}

constexpr OperatorRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", 12, [](Call& c) -> Results { return likelihood_loss(c, c[0], c[1], c.get(2)); }},
    {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy},
};

}  // namespace

std::span<const OperatorRow> loss_rows() { return kLossRows; }

}  // namespace kiln::onnx
