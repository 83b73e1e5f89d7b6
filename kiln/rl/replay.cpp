#include "kiln/rl/replay.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/ops/device.hpp"

namespace kiln::rl {
namespace {

constexpr double kErrorOffset = 1e-6;  // added to an error, so that a transition without an error can be sampled again

TensorData rows(std::size_t count, std::size_t size) {
  return {Shape{static_cast<std::int64_t>(count), static_cast<std::int64_t>(size)}, DType::F32};
}
TensorData column(std::size_t count) { return {Shape{static_cast<std::int64_t>(count)}, DType::F32}; }

}  // namespace

void ReplayConfig::check() const {
  require<ArgumentError>(1 <= capacity && capacity <= std::int64_t{1} << 40, "ReplayConfig: capacity = ", capacity,
                         " must be 1 to 2^40");
  require<ArgumentError>(1 <= steps && steps <= 1024, "ReplayConfig: steps = ", steps, " must be 1 to 1024");
  require<ArgumentError>(0 <= discount && discount <= 1, "ReplayConfig: discount = ", discount, " must be 0 to 1");
  require<ArgumentError>(0 <= priority && priority <= 1, "ReplayConfig: priority = ", priority, " must be 0 to 1");
  require<ArgumentError>(0 <= correction && correction <= 1, "ReplayConfig: correction = ", correction,
                         " must be 0 to 1");
}

SumTree::SumTree(std::size_t count) : leaves_(std::bit_ceil(std::max<std::size_t>(count, 1))), sums_(2 * leaves_) {}

void SumTree::set(std::size_t i, double number) {
  std::size_t node = leaves_ + i;
  for (sums_[node] = number; node > 1;) {
    node /= 2;
    sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
  }
}

std::size_t SumTree::find(double part) const {
  std::size_t node = 1;
  while (node < leaves_) {
    node *= 2;
    // It goes to the right if the part lies there, but never into an empty half, whatever the rounding.
    if ((part >= sums_[node] && sums_[node + 1] > 0) || sums_[node] == 0) {
      part -= sums_[node];
      ++node;
    }
  }
  return node - leaves_;
}

Replay::Replay(const ReplayConfig& config, const VectorEnvironment& worlds)
    : config_((config.check(), config)),
      name_(worlds.environment(0).name()),
      environments_(worlds.count()),
      observation_size_(static_cast<std::size_t>(worlds.observation_space().size())),
      action_size_(static_cast<std::size_t>(worlds.action_space().size())),
      tree_(0) {
  const auto capacity = static_cast<std::size_t>(config.capacity);
  const bool by_priority = config.priority > 0;
  const double bytes =
      static_cast<double>(capacity) * static_cast<double>(2 * observation_size_ + action_size_ + 2) * sizeof(float) +
      (by_priority ? static_cast<double>(capacity + 2 * std::bit_ceil(capacity)) * sizeof(double) : 0);
  const auto limit = static_cast<double>(Device::cpu().memory().limit);
  require<MemoryError>(limit == 0 || bytes <= limit, "Replay: ", config.capacity, " transitions of ", name_, " take ",
                       bytes * 1e-9, " GB, and programs may have ", limit * 1e-9, " GB: choose a smaller capacity");
  const auto take = [&](auto& list, std::size_t size) { list.resize(capacity * size); };
  try {
    take(observations_, observation_size_);
    take(actions_, action_size_);
    take(rewards_, 1);
    take(nexts_, observation_size_);
    take(discounts_, 1);
    if (by_priority) {
      take(priorities_, 1);
      tree_ = SumTree(capacity);
    }
    open_.resize(environments_ * static_cast<std::size_t>(config.steps) * (observation_size_ + action_size_ + 1));
    open_counts_.resize(environments_);
  } catch (...) { rethrow_as_memory_error("Replay"); }
}

void Replay::require_consistent() const {
  const auto capacity = static_cast<std::size_t>(config_.capacity);
  const auto has = [&](const auto& list, std::size_t size) { return list.size() == capacity * size; };
  require<DataError>(
      has(observations_, observation_size_) && has(actions_, action_size_) && has(rewards_, 1) &&
          has(nexts_, observation_size_) && has(discounts_, 1) && has(priorities_, config_.priority > 0 ? 1 : 0) &&
          open_.size() ==
              environments_ * static_cast<std::size_t>(config_.steps) * (observation_size_ + action_size_ + 1) &&
          open_counts_.size() == environments_ && 0 <= size_ && size_ <= config_.capacity && 0 <= next_ &&
          next_ < config_.capacity &&
          std::ranges::all_of(
              open_counts_, [&](std::int64_t count) { return 0 <= count && count < config_.steps; }),
      "Replay: what was loaded is of another buffer than one of ", config_.capacity, " transitions of ", name_);
}

void Replay::build_tree() {
  if (tree_is_built_) return;
  if (config_.priority > 0)
    for (std::size_t i = 0; i < priorities_.size(); ++i)
      tree_.set(i, i < static_cast<std::size_t>(size_) && priorities_[i] > 0 && std::isfinite(priorities_[i])
                       ? priorities_[i]
                       : 0);
  tree_is_built_ = true;
}

void Replay::add(std::span<const float> observations, std::span<const float> actions, const VectorEnvironment& worlds) {
  require_consistent();
  build_tree();
  require<ShapeError>(worlds.count() == environments_ && observations.size() == environments_ * observation_size_ &&
                          actions.size() == environments_ * action_size_ &&
                          worlds.final_observations().size() == observations.size(),
                      "Replay: takes ", environments_, " environments with observations of ", observation_size_,
                      " and actions of ", action_size_, " numbers, got ", worlds.count(), " with ", observations.size(),
                      " and ", actions.size(), " in all");
  const std::size_t step = observation_size_ + action_size_ + 1;
  for (std::size_t i = 0; i < environments_; ++i) {
    const Outcome& outcome = worlds.outcomes()[i];
    float* const opened =
        &open_[(i * static_cast<std::size_t>(config_.steps) + static_cast<std::size_t>(open_counts_[i])) * step];
    std::ranges::copy(observations.subspan(i * observation_size_, observation_size_), opened);
    std::ranges::copy(actions.subspan(i * action_size_, action_size_), opened + observation_size_);
    opened[observation_size_ + action_size_] = static_cast<float>(outcome.reward);
    ++open_counts_[i];
    const std::span<const float> next = worlds.final_observations().subspan(i * observation_size_, observation_size_);
    if (open_counts_[i] == config_.steps) close_oldest(i, next, outcome.terminated);
    while (outcome.over() && open_counts_[i] > 0) close_oldest(i, next, outcome.terminated);
  }
}

void Replay::close_oldest(std::size_t environment, std::span<const float> next, bool terminated) {
  const std::size_t step = observation_size_ + action_size_ + 1;
  float* const first = &open_[environment * static_cast<std::size_t>(config_.steps) * step];
  const auto count = static_cast<std::size_t>(open_counts_[environment]);
  const auto place = static_cast<std::size_t>(next_);
  std::copy_n(first, observation_size_, &observations_[place * observation_size_]);
  std::copy_n(first + observation_size_, action_size_, &actions_[place * action_size_]);
  std::ranges::copy(next, &nexts_[place * observation_size_]);
  double reward = 0, discount = 1;
  for (std::size_t i = 0; i < count; ++i, discount *= config_.discount)
    reward += discount * static_cast<double>(first[i * step + observation_size_ + action_size_]);
  rewards_[place] = static_cast<float>(reward);
  discounts_[place] = terminated ? 0 : static_cast<float>(discount);
  if (config_.priority > 0) tree_.set(place, priorities_[place] = std::pow(highest_, config_.priority));
  std::shift_left(first, first + count * step, static_cast<std::ptrdiff_t>(step));
  --open_counts_[environment];
  next_ = (next_ + 1) % config_.capacity;
  size_ = std::min(size_ + 1, config_.capacity);
}

Transitions Replay::sample(std::int64_t count, Random& random) {
  require_consistent();
  build_tree();
  require<ArgumentError>(count >= 1, "Replay: a sample of ", count, " transitions: must be at least 1");
  require<ArgumentError>(size_ > 0, "Replay: the buffer is empty: add() something before sample()");
  const bool weighted = config_.priority > 0 && tree_.sum() > 0;
  const auto n = static_cast<std::size_t>(count);
  Transitions sample{rows(n, observation_size_),
                     rows(n, action_size_),
                     column(n),
                     rows(n, observation_size_),
                     column(n),
                     column(n),
                     {}};
  sample.indices.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    // With priorities, the sum of priorities is divided into `count` equal parts, and one transition is sampled from
    // each.
    const std::int64_t place = weighted
                                   ? static_cast<std::int64_t>(tree_.find((static_cast<double>(i) + random.uniform()) *
                                                                          (tree_.sum() / static_cast<double>(count))))
                                   : random.below(size_);
    const auto at = static_cast<std::size_t>(place);
    const auto copy = [i, at](const std::vector<float>& from, TensorData& to, std::size_t size) {
      std::copy_n(&from[at * size], size, to.as<float>().data() + i * size);
    };
    copy(observations_, sample.observations, observation_size_);
    copy(actions_, sample.actions, action_size_);
    copy(rewards_, sample.rewards, 1);
    copy(nexts_, sample.next_observations, observation_size_);
    copy(discounts_, sample.discounts, 1);
    // The weight is (size * probability)^-correction.
    const double probability = weighted ? tree_.at(at) / tree_.sum() * static_cast<double>(size_) : 1;
    sample.weights.as<float>()[i] = static_cast<float>(std::pow(probability, -config_.correction));
    sample.indices.push_back(place);
  }
  const std::span<float> weights = sample.weights.as<float>();
  const float largest = *std::ranges::max_element(weights);
  for (float& weight : weights) weight /= largest;
  return sample;
}

void Replay::set_errors(std::span<const std::int64_t> indices, std::span<const float> errors) {
  require_consistent();
  build_tree();
  require<ArgumentError>(indices.size() == errors.size(), "Replay: ", errors.size(), " errors of ", indices.size(),
                         " transitions");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    require<ArgumentError>(0 <= indices[i] && indices[i] < size_, "Replay: index ", indices[i], " of a buffer of ",
                           size_);
    require<ArgumentError>(std::isfinite(errors[i]), "Replay: the error of transition ", i, " is ", errors[i]);
  }
  if (config_.priority == 0) return;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const double error = std::abs(static_cast<double>(errors[i])) + kErrorOffset;
    highest_ = std::max(highest_, error);
    const auto place = static_cast<std::size_t>(indices[i]);
    tree_.set(place, priorities_[place] = std::pow(error, config_.priority));
  }
}

}  // namespace kiln::rl
