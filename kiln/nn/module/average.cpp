#include "kiln/nn/module/average.hpp"

#include <algorithm>

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/read.hpp"

namespace kiln {
namespace {

Value in_full(const Value& value) {
  const Value data = value.detach();
  return size_of(data.dtype()) == 2 ? cast(data, DType::F32) : data;
}

}  // namespace

Value WeightAverage::rounded(const Value& average, const Value& like) {
  const NoGrad pause;
  return to_device(cast(average, like.dtype()), like.device());
}

void WeightAverage::start(const Values& values) {
  const NoGrad pause;
  for (const auto& [path, value] : values) averages_.emplace(path, in_full(value));
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
    require<ShapeError>(average.shape() == weight.shape(), "WeightAverage: the average of '", path, "' has shape ",
                        average.shape(), ", the model's is ", weight.shape());
    if (!fresh) average = average * (1 - share) + weight * share;
    made.push_back(average);
  }
  run_pending(made);
  averages_ = std::move(next);
  ++updates_;
}

}  // namespace kiln
