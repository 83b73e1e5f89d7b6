// A small task that agents solve in seconds, and what tests of agents and of the loop share.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kiln/rl/agents/dqn.hpp"
#include "kiln/rl/vector_environment.hpp"
#include "kiln/rl/wrappers.hpp"

namespace kiln::rl {

/// Five states in a row, shown as a list with one 1. To the right of the last one is 1; to stay away from there, at the left
/// end, is worth 0.1 at once and nothing later.
class Chain final : public Environment {
 public:
  explicit Chain(bool choice)
      : Environment("Chain", Space::box({5}, 0, 1), choice ? Space::discrete(2) : Space::box({1}, -2, 2)),
        choice_(choice) {}

 private:
  void show(std::span<float> seen) const {
    std::ranges::fill(seen, 0.0f);
    seen[static_cast<std::size_t>(state_)] = 1;
  }
  void begin(std::span<float> seen) override {
    state_ = 0;
    show(seen);
  }
  Outcome advance(std::span<const float> action, std::span<float> seen) override {
    const bool right = choice_ ? action[0] == 1 : action[0] > 0;
    if (right && state_ == 4) {
      show(seen);
      return {.reward = 1, .terminated = true};
    }
    const bool stays = !right && state_ == 0;
    state_ = right ? state_ + 1 : std::max(state_ - 1, 0);
    show(seen);
    return {.reward = stays ? 0.02 : 0};
  }
  std::vector<double> numbers() const override { return {static_cast<double>(state_)}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 1 || !(numbers[0] >= 0 && numbers[0] <= 4)) return false;
    state_ = static_cast<int>(numbers[0]);
    return true;
  }

  bool choice_;
  int state_ = 0;
};
inline VectorEnvironment chains(bool choice, std::int64_t count = 4) {
  return {[choice] { return limited(std::make_unique<Chain>(choice), 12); }, count, 1};
}
inline Device device() {
  const Device cpu = Device::cpu().autodiff();
  cpu.seed(7);
  return cpu;
}

inline DqnConfig small_dqn() {
  return {.replay = {.capacity = 2000, .discount = 0.9},
          .rate = 3e-3,
          .batch = 32,
          .warm_up = 100,
          .steps_per_update = 4,
          .target_every = 40,
          .epsilon_steps = 2000};
}
inline MlpConfig small_net(std::int64_t out) { return {.in = 5, .out = out, .hidden = {32}}; }

/// All of a policy's numbers.
template <class Policy>
std::vector<float> numbers_of(const Policy& policy) {
  std::vector<float> numbers;
  visit_params(policy, [&](const std::string&, const auto& param) {
    const std::vector<float> own = param.value().data().template to_vector<float>();
    numbers.insert(numbers.end(), own.begin(), own.end());
  });
  return numbers;
}

}  // namespace kiln::rl
