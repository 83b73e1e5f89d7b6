#include "kiln/optim/rules/adafactor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln {

std::span<const std::string_view> AdafactorConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"row_second_moment", "column_second_moment", "second_moment"};
  return kNames;
}

Values AdafactorConfig::fresh_slots(const Value& param) const {
  if (param.rank() < 2) return {Value(), Value(), zeros_like(param)};
  Shape rows = param.shape(), columns = param.shape();
  rows[rows.size() - 1] = columns[columns.size() - 2] = 1;
  return {zeros(rows, param.device(), param.dtype()), zeros(columns, param.device(), param.dtype()), Value()};
}

void AdafactorConfig::check() const {
  require<ArgumentError>(decay < 0 && std::isfinite(decay), "AdafactorConfig: decay = ", decay,
                         " must be negative and finite");
  require<ArgumentError>(threshold > 0, "AdafactorConfig: threshold = ", threshold, " must be positive");
  rules::require_not_negative(kName, {{"least_scale", least_scale}, {"weight_decay", weight_decay}});
  if (epsilon) rules::require_positive(kName, {{"epsilon", *epsilon}});
}

Value AdafactorConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value &rows = state.slots[0], &columns = state.slots[1], &all = state.slots[2];
  const double t = static_cast<double>(state.steps + 1), kept = 1 - std::pow(t, decay);
  const double least = epsilon.value_or(param.dtype() == DType::F64 ? std::numeric_limits<double>::epsilon()
                                                                    : std::numeric_limits<float>::epsilon());
  const Value squares = square(grad);
  if (param.rank() < 2) {
    all = rules::moving_average(all, squares, kept);
  } else {
    rows = rules::moving_average(rows, mean(squares, {-1}, true), kept);
    columns = rules::moving_average(columns, mean(squares, {-2}, true), kept);
  }
  const Value variance = param.rank() < 2 ? all : rows / maximum(mean(rows, {-2}, true), least) * columns;
  const Value step = grad / sqrt(maximum(variance, least * least));
  const Value scale = maximum(rules::root_mean_square(param), least_scale) * std::min(rate, 1 / std::sqrt(t)) /
                      maximum(rules::root_mean_square(step) * (1 / threshold), 1.0);
  return (weight_decay != 0 ? param * (1 - rate * weight_decay) : param) - step * scale;
}

}  // namespace kiln
