#include "kiln/nn/module/average.hpp"

#include <algorithm>

#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

Value in_full(const Value& value) {
  const Value data = value.detach();
  return size_of(data.dtype()) == 2 ? cast(data, DType::F32) : data;
}

Value like(const Value& weight, const Value& average) {
  const NoGrad pause;
  return to_device(cast(average, weight.dtype()), weight.device());
}

void require_shape(std::string_view path, const Value& average, const Value& weight) {
  require<ShapeError>(average.shape() == weight.shape(), "WeightAverage: the average of '", path, "' has shape ",
                      average.shape(), ", the model's is ", weight.shape());
}

}  // namespace

WeightAverage EmaConfig::init(const nn::ModuleView& model) const {
  require<ArgumentError>(decay >= 0 && decay < 1, "EmaConfig: decay = ", decay, " must lie in [0, 1)");
  return {WeightAverage::Rule{.equal = false, .ema = *this}, model};
}
WeightAverage SwaConfig::init(const nn::ModuleView& model) const {
  return {WeightAverage::Rule{.equal = true, .ema = {.buffers = buffers}}, model};
}

WeightAverage::WeightAverage(const Rule& rule, const nn::ModuleView& model) : rule_(rule) {
  const NoGrad pause;
  for (const auto& [path, value] : current(model)) averages_.emplace(path, in_full(value));
}

bool WeightAverage::is_averaged(const nn::AnyLeaf& leaf) const {
  if (leaf.empty() || !is_float(leaf.dtype())) return false;
  return leaf.is_param() ? !leaf.is_frozen() : leaf.is_buffer() && rule_.ema.buffers;
}

WeightAverage::Values WeightAverage::current(const nn::ModuleView& model) const {
  Values values;
  nn::walk(model, [&](const std::string& path, const nn::AnyLeaf& leaf) {
    if (is_averaged(leaf)) values.emplace(path, leaf.value());
  });
  return values;
}

void WeightAverage::put_averages(const nn::ModuleRef& model) const {
  nn::walk(model, [&](const std::string& path, nn::AnyLeaf& leaf) {
    const auto found = averages_.find(path);
    if (found == averages_.end() || !is_averaged(leaf)) return;
    require_shape(path, found->second, leaf.value());
    leaf.set(like(leaf.value(), found->second));
  });
}

double WeightAverage::share() const {
  const auto n = static_cast<double>(updates_ + 1);
  if (rule_.equal) return 1 / n;
  return 1 - (rule_.ema.warmup ? std::min(rule_.ema.decay, (1 + n) / (10 + n)) : rule_.ema.decay);
}

void WeightAverage::update_with(const Values& values) {
  const NoGrad pause;
  const double share = this->share();
  Values next = averages_;
  kiln::Values made;
  for (const auto& [path, value] : values) {
    const Value weight = in_full(value);
    const auto [place, fresh] = next.emplace(path, weight);
    Value& average = place->second;
    require_shape(path, average, weight);
    if (!fresh) average = average * (1 - share) + weight * share;
    made.push_back(average);
  }
  run_pending(made);
  averages_ = std::move(next);
  ++updates_;
}

}  // namespace kiln
