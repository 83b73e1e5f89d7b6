#include "kiln/nn/loss/of_policies.hpp"

#include "kiln/ops/reduce/statistics.hpp"

namespace kiln::nn {
namespace {

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

void require_fitting(const GrpoLoss& loss, const Answers& a) {
  const Shape& shape = a.log_probabilities.shape();
  require<ShapeError>(a.advantages.shape() == Shape{shape[0]}, "GrpoLoss: advantages ", a.advantages.shape(),
                      " must be one for each answer of ", shape);
  const auto alike = [&](std::string_view what, const Value& other) {
    require<ShapeError>(other.empty() || other.shape() == shape, "GrpoLoss: ", what, ' ',
                        other.empty() ? Shape{} : other.shape(), " and log_probabilities ", shape, " differ");
  };
  alike("old_log_probabilities", a.old_log_probabilities.value());
  alike("reference", a.reference.value());
  alike("mask", a.mask.value());
  const std::pair<std::string_view, double> options[] = {
      {"clip", loss.clip}, {"clip_above", loss.clip_above}, {"beta", loss.beta}};
  for (const auto& [name, number] : options)
    require<ArgumentError>(number >= 0, "GrpoLoss: ", name, " must not be negative, got ", number);
  require<ArgumentError>(loss.beta == 0 || !a.reference.empty(), "GrpoLoss: beta = ", loss.beta,
                         " weighs the distance from a reference, and none is given");
}

Value improve(const GrpoLoss& loss, const Answers& a) {
  require<ArgumentError>(!a.log_probabilities.empty() && !a.advantages.empty(),
                         "GrpoLoss: log_probabilities and advantages are needed");
  require_fitting(loss, a);
  const Value& now = a.log_probabilities.value();
  // Values outside of the mask, even infinite ones, reach neither the loss nor a gradient.
  const auto behind_now = [&](const Value& other) {
    const Value difference = other - now;
    return a.mask.empty() ? difference : where(a.mask.value(), difference, 0.0);
  };
  const Value ratio =
      exp(neg(behind_now(a.old_log_probabilities.empty() ? now.detach() : a.old_log_probabilities.value())));
  const Value advantages = unsqueeze(cast(a.advantages.value(), now.dtype()), 1);
  Value each = neg(minimum(ratio * advantages, clamp(ratio, 1 - loss.clip, 1 + loss.clip_above) * advantages));
  if (loss.beta > 0) {
    const Value log_q = behind_now(a.reference.value());
    each = each + (exp(log_q) - log_q - 1) * loss.beta;
  }
  if (a.mask.empty()) return mean(each, {1});
  const Value mask = cast(a.mask.value(), now.dtype());
  return sum(where(a.mask.value(), each, 0.0), {1}) / maximum(sum(mask, {1}), 1);
}

}  // namespace

Tensor<1> DpoLoss::forward_each(const Preferences& preferences) const { return Typed{prefer(*this, preferences)}; }
Tensor<0> DpoLoss::forward(const Preferences& preferences) const {
  return Typed{reduced(prefer(*this, preferences), to_one_number("DpoLoss", reduction))};
}

Tensor<1> GrpoLoss::forward_each(const Answers& answers) const { return Typed{improve(*this, answers)}; }
Tensor<0> GrpoLoss::forward(const Answers& answers) const {
  return Typed{reduced(improve(*this, answers), to_one_number("GrpoLoss", reduction))};
}

Tensor<1> group_advantages(const Tensor<2>& rewards, bool scaled) {
  require<ShapeError>(rewards.dim(1) >= 2,
                      "group_advantages: needs [questions, answers] with two answers or more, got ", rewards.shape());
  const Value apart = rewards.value() - mean(rewards.value(), {1}, true);
  constexpr double epsilon = 1e-4;  // avoids a division by 0 for equal rewards
  return Typed{reshape(scaled ? apart / (deviation(rewards.value(), {1}, 1, true) + epsilon) : apart, {-1})};
}

}  // namespace kiln::nn
