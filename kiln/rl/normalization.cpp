#include "kiln/rl/normalization.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

void NormalizationConfig::check() const {
  require<ArgumentError>(observations || rewards, "NormalizationConfig: neither observations nor rewards would change");
  require<ArgumentError>(0 <= discount && discount <= 1, "NormalizationConfig: discount = ", discount,
                         " must be 0 to 1");
  require<ArgumentError>(epsilon > 0 && std::isfinite(epsilon), "NormalizationConfig: epsilon = ", epsilon,
                         " must be positive");
  require<ArgumentError>(limit > 0, "NormalizationConfig: limit = ", limit, " must be positive");
}

void RunningMoments::update(std::span<const double> rows) {
  const std::size_t columns = mean.size(), height = rows.size() / columns;
  const auto added = static_cast<double>(height), total = count + added;
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0, squares = 0;
    for (std::size_t row = 0; row < height; ++row) sum += rows[row * columns + column];
    const double average = sum / added, step = average - mean[column];
    for (std::size_t row = 0; row < height; ++row) {
      const double distance = rows[row * columns + column] - average;
      squares += distance * distance;
    }
    variance[column] = (variance[column] * count + squares + step * step * count * added / total) / total;
    mean[column] += step * added / total;
  }
  count = total;
}

Normalization::Normalization(const NormalizationConfig& config, const Space& observations, std::size_t environments)
    : config_((config.check(), config)),
      columns_(static_cast<std::size_t>(observations.size())),
      observations_(columns_),
      returns_(1),
      sums_(environments) {
  require<ShapeError>(!config.observations || !observations.is_discrete(), "normalize: observations are ", observations,
                      ": one_hot() makes numbers of an index");
}

Space Normalization::normalized(const Space& space) const {
  const auto limit = static_cast<float>(config_.limit);
  return config_.observations ? Space::box(space.shape(), -limit, limit) : space;
}

void Normalization::require_loaded() const {
  require<DataError>(observations_.mean.size() == columns_ && observations_.variance.size() == columns_ &&
                         returns_.mean.size() == 1 && returns_.variance.size() == 1,
                     "Normalization: what was loaded belongs to observations of another size than ", columns_);
}

void Normalization::take_moments(const Normalization& other) {
  require<ShapeError>(columns_ == other.columns_, "normalize: moments of ", other.columns_,
                      " numbers for observations of ", columns_);
  observations_ = other.observations_;
  returns_ = other.returns_;
  frozen_ = true;
}

void Normalization::restart() { std::ranges::fill(sums_, 0.0); }

void Normalization::learn(std::span<const float> rows) {
  require_loaded();
  if (config_.observations && !frozen_) observations_.update(std::vector<double>(rows.begin(), rows.end()));
}

void Normalization::normalize(std::span<float> rows) const {
  require_loaded();
  require<ShapeError>(rows.size() % columns_ == 0, "normalize: takes rows of ", columns_, " numbers, got ", rows.size(),
                      " numbers");
  if (!config_.observations) return;
  for (std::size_t column = 0; column < columns_; ++column) {
    const double mean = observations_.mean[column];
    const double scale = 1 / std::sqrt(observations_.variance[column] + config_.epsilon);
    for (std::size_t i = column; i < rows.size(); i += columns_)
      rows[i] =
          static_cast<float>(std::clamp((static_cast<double>(rows[i]) - mean) * scale, -config_.limit, config_.limit));
  }
}

void Normalization::normalize(std::span<Outcome> outcomes) {
  require_loaded();
  if (!config_.rewards) return;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    // Gymnasium counts the last reward of an episode only if the episode terminates.
    const double before = outcomes[i].terminated ? 0 : config_.discount * sums_[i];
    sums_[i] = before + outcomes[i].reward;
  }
  if (!frozen_) returns_.update(sums_);
  const double scale = 1 / std::sqrt(returns_.variance[0] + config_.epsilon);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].reward = std::clamp(outcomes[i].reward * scale, -config_.limit, config_.limit);
    if (outcomes[i].over()) sums_[i] = 0;
  }
}

std::vector<double> Normalization::state() const {
  std::vector<double> state;
  Normalization(*this).each_number([&](double number) { state.push_back(number); });
  return state;
}

bool Normalization::set_state(std::span<const double> state) {
  Normalization next = *this;
  std::size_t numbers = 0;
  next.each_number([&](double& number) { number = numbers < state.size() ? state[numbers] : 0, ++numbers; });
  const auto are_moments = [](const RunningMoments& moments) {
    return moments.count > 0 && std::ranges::all_of(moments.variance, [](double variance) { return variance >= 0; });
  };
  if (numbers != state.size() || !std::ranges::all_of(state, [](double number) { return std::isfinite(number); }) ||
      !are_moments(next.observations_) || !are_moments(next.returns_))
    return false;
  *this = std::move(next);
  return true;
}

}  // namespace kiln::rl
