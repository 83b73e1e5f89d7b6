#include "kiln/rl/wrappers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/rl/wrapper.hpp"

namespace kiln::rl {
namespace {

const Environment& existing(std::string_view function, const EnvironmentPtr& environment) {
  require<ArgumentError>(environment != nullptr, function, ": there is no environment");
  return *environment;
}

class Limited final : public Wrapper {
 public:
  Limited(EnvironmentPtr inner, std::int64_t most) : Wrapper("limited", std::move(inner)), most_(most) {}

 private:
  void begin(std::span<float> observation) override {
    steps_ = 0;
    inner().reset(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    Outcome outcome = inner().step(action, observation);
    outcome.truncated = outcome.truncated || (++steps_ >= most_ && !outcome.terminated);
    return outcome;
  }
  std::vector<double> own_numbers() const override { return {static_cast<double>(steps_)}; }
  bool take_own(std::span<const double> numbers) override {
    if (numbers.size() != 1 || !(0 <= numbers[0] && numbers[0] <= static_cast<double>(most_))) return false;
    steps_ = static_cast<std::int64_t>(numbers[0]);
    return true;
  }

  std::int64_t most_, steps_ = 0;
};

class Stacked final : public Wrapper {
 public:
  Stacked(EnvironmentPtr inner, std::int64_t frames)
      : Wrapper("stacked", std::move(inner), joined(existing("stacked", inner).observations(), frames)),
        size_(static_cast<std::size_t>(this->inner().observations().size())),
        seen_(static_cast<std::size_t>(observations().size())) {}

 private:
  static Space joined(const Space& one, std::int64_t frames) {
    require<ArgumentError>(1 <= frames && frames <= 1024, "stacked: frames = ", frames, " must be 1 to 1024");
    require<ShapeError>(one.shape().size() >= 1, "stacked: takes what is seen as a list or a picture, got ", one,
                        "; one_hot() makes a list of it");
    Shape shape = one.shape();
    shape[0] *= frames;
    std::vector<float> low, high;
    for (std::int64_t i = 0; i < frames; ++i) {
      low.insert(low.end(), one.low().begin(), one.low().end());
      high.insert(high.end(), one.high().begin(), one.high().end());
    }
    return Space::box(shape, std::move(low), std::move(high));
  }

  std::span<float> newest() { return std::span(seen_).last(size_); }
  void begin(std::span<float> observation) override {
    inner().reset(newest());
    for (std::size_t at = 0; at + size_ < seen_.size(); at += size_)
      std::ranges::copy(newest(), seen_.begin() + static_cast<std::ptrdiff_t>(at));
    std::ranges::copy(seen_, observation.begin());
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    std::shift_left(seen_.begin(), seen_.end(), static_cast<std::ptrdiff_t>(size_));
    const Outcome outcome = inner().step(action, newest());
    std::ranges::copy(seen_, observation.begin());
    return outcome;
  }
  std::vector<double> own_numbers() const override { return {seen_.begin(), seen_.end()}; }
  bool take_own(std::span<const double> numbers) override {
    if (numbers.size() != seen_.size()) return false;
    std::ranges::transform(numbers, seen_.begin(), [](double number) { return static_cast<float>(number); });
    return true;
  }

  std::size_t size_;
  std::vector<float> seen_;
};

class OneHot final : public Wrapper {
 public:
  explicit OneHot(EnvironmentPtr inner)
      : Wrapper("one_hot", std::move(inner), places(existing("one_hot", inner).observations())) {}

 private:
  static Space places(const Space& indices) {
    require<ArgumentError>(indices.is_discrete(), "one_hot: takes an index of a discrete space, got ", indices);
    return Space::box({indices.count()}, 0, 1);
  }
  static void show(float index, std::span<float> observation) {
    std::ranges::fill(observation, 0.0f);
    observation[static_cast<std::size_t>(index)] = 1;
  }
  void begin(std::span<float> observation) override {
    float index = 0;
    inner().reset({&index, 1});
    show(index, observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    float index = 0;
    const Outcome outcome = inner().step(action, {&index, 1});
    show(index, observation);
    return outcome;
  }
};

class Normalized final : public Wrapper {
 public:
  Normalized(EnvironmentPtr inner, const NormalizationConfig& config)
      : Normalized(Normalization(config, existing("normalized", inner).observations(), 1), std::move(inner)) {}

 private:
  Normalized(Normalization normalization, EnvironmentPtr&& inner)
      : Wrapper("normalized", std::move(inner), normalization.normalized(inner->observations())),
        normalization_(std::move(normalization)) {}

  void show(std::span<float> observation) {
    normalization_.learn(observation);
    normalization_.normalize(observation);
  }
  void begin(std::span<float> observation) override {
    normalization_.restart();
    inner().reset(observation);
    show(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    Outcome outcome = inner().step(action, observation);
    normalization_.normalize(std::span(&outcome, 1));
    show(observation);
    return outcome;
  }
  std::vector<double> own_numbers() const override { return normalization_.state(); }
  bool take_own(std::span<const double> numbers) override { return normalization_.set_state(numbers); }

  Normalization normalization_;
};

}  // namespace

Wrapper::Wrapper(std::string_view function, EnvironmentPtr&& inner, Space observations)
    : Environment(existing(function, inner).name(), std::move(observations), existing(function, inner).actions()),
      inner_(std::move(inner)) {}
Wrapper::Wrapper(std::string_view function, EnvironmentPtr&& inner)
    : Wrapper(function, std::move(inner), existing(function, inner).observations()) {}

std::vector<double> Wrapper::numbers() const {
  std::vector<double> numbers = own_numbers();
  numbers.insert(numbers.begin(), static_cast<double>(numbers.size()));
  const std::vector<double> of_inner = inner_->state();
  numbers.insert(numbers.end(), of_inner.begin(), of_inner.end());
  return numbers;
}

bool Wrapper::take(std::span<const double> numbers) {
  if (numbers.empty() || !(0 <= numbers[0] && numbers[0] < static_cast<double>(numbers.size()))) return false;
  const auto own = static_cast<std::size_t>(numbers[0]);
  const std::vector<double> before = inner_->state();
  inner_->set_state(numbers.subspan(1 + own));
  if (take_own(numbers.subspan(1, own))) return true;
  inner_->set_state(before);
  return false;
}

EnvironmentPtr limited(EnvironmentPtr environment, std::int64_t steps) {
  require<ArgumentError>(steps >= 1, "limited: steps = ", steps, " must be at least 1");
  return std::make_unique<Limited>(std::move(environment), steps);
}
EnvironmentPtr stacked(EnvironmentPtr environment, std::int64_t frames) {
  return std::make_unique<Stacked>(std::move(environment), frames);
}
EnvironmentPtr normalized(EnvironmentPtr environment, const NormalizationConfig& config) {
  return std::make_unique<Normalized>(std::move(environment), config);
}
EnvironmentPtr one_hot(EnvironmentPtr environment) { return std::make_unique<OneHot>(std::move(environment)); }

}  // namespace kiln::rl
