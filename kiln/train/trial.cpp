#include "kiln/train/trial.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

void RateFinderConfig::check() const {
  require<ArgumentError>(std::isfinite(greatest) && least > 0 && least < greatest, "rate finder: least = ", least,
                         " must be positive and below greatest = ", greatest);
  require<ArgumentError>(steps >= 3, "rate finder: steps is ", steps, ", it must be at least 3");
  require<ArgumentError>(smoothing >= 0 && smoothing < 1, "rate finder: smoothing is ", smoothing,
                         ", it must be at least 0 and below 1");
  require<ArgumentError>(diverges > 1, "rate finder: diverges is ", diverges, ", it must be above 1");
}

double RateFinderConfig::at(std::int64_t step) const {
  return least * std::pow(greatest / least, static_cast<double>(step) / static_cast<double>(steps - 1));
}

void OverfitConfig::check() const {
  require<ArgumentError>(batches >= 1, "overfit: batches is ", batches, ", it must be at least 1");
  require<ArgumentError>(steps >= 1, "overfit: steps is ", steps, ", it must be at least 1");
}

double FoundRate::suggested() const {
  if (rate) return *rate;
  require<DataError>(!losses.empty(), "find_rate: no step was taken, so that no rate can be suggested");
  require<DataError>(std::isfinite(losses.back()), "find_rate: no rate can be suggested, as the loss of step ",
                     losses.size(), ", at a rate of ", rates.back(), ", is ", losses.back(),
                     ": look at the model's output and the batch, or begin with a smaller RateFinderConfig::least");
  fail<DataError>(
      "find_rate: no rate can be suggested, as the loss never fell in ", losses.size(), " steps from a rate of ",
      rates.front(), " to ", rates.back(),
      ": shuffle the data, take more steps or a wider range of rates, or see by overfit() whether the model "
      "learns at all");
}

namespace training {

void RateTest::on(const Step& step, Interrupter& control) {
  FoundRate& found = *found_;
  found.rates.push_back(step.rates.at(0));
  found.losses.push_back(step.loss);
  if (!std::isfinite(step.loss)) return control.stop("the loss is not finite");
  average_ = config_.smoothing * average_ + (1 - config_.smoothing) * step.loss;
  decay_ *= config_.smoothing;
  found.smoothed.push_back(average_ / (1 - decay_));
  const double best = *std::min_element(found.smoothed.begin(), found.smoothed.end());
  if (best > 0 && found.smoothed.back() > config_.diverges * best) control.stop("the loss diverges");
}

std::optional<double> steepest(const std::vector<double>& rates, const std::vector<double>& smoothed) {
  const auto lowest = std::min_element(smoothed.begin(), smoothed.end()) - smoothed.begin();
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(std::ssize(smoothed) / 10, 1);
  std::optional<double> found;
  double least = 0;
  for (std::ptrdiff_t i = first; i <= lowest && i + 1 < std::ssize(smoothed); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double slope = (smoothed[at + 1] - smoothed[at - 1]) / std::log(rates[at + 1] / rates[at - 1]);
    if (slope >= least) continue;
    least = slope;
    found = rates[at];
  }
  return found;
}

}  // namespace training
}  // namespace kiln
