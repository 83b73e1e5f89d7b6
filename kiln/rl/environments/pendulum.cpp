#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/core/error/error.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/sketch.hpp"

namespace kiln::rl {
namespace {

class Pendulum final : public Environment {
 public:
  explicit Pendulum(double gravity)
      : Environment("Pendulum", Space::box({3}, {-1, -1, -kFastest}, {1, 1, kFastest}),
                    Space::box({1}, -kStrongest, kStrongest)),
        gravity_(gravity) {}

 private:
  static constexpr float kFastest = 8, kStrongest = 2;
  static constexpr double kMass = 1, kLength = 1, kSeconds = 0.05;

  void show(std::span<float> observation) const {
    observation[0] = static_cast<float>(std::cos(angle_));
    observation[1] = static_cast<float>(std::sin(angle_));
    observation[2] = static_cast<float>(turning_);
  }
  void begin(std::span<float> observation) override {
    angle_ = random().uniform(-std::numbers::pi, std::numbers::pi);
    turning_ = random().uniform(-1, 1);
    show(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    const double torque = action[0];
    const double off = std::remainder(angle_, 2 * std::numbers::pi);
    const double cost = off * off + 0.1 * turning_ * turning_ + 0.001 * torque * torque;
    turning_ += (3 * gravity_ / (2 * kLength) * std::sin(angle_) + 3 / (kMass * kLength * kLength) * torque) * kSeconds;
    turning_ = std::clamp<double>(turning_, -kFastest, kFastest);
    angle_ += turning_ * kSeconds;
    show(observation);
    return {.reward = -cost};
  }
  Picture picture() const override {
    Sketch sketch(2.4, 2.4, 62.5);
    sketch.line({1.2, 1.2}, {1.2 - std::sin(angle_), 1.2 + std::cos(angle_)}, 0.2, kRed);
    sketch.disc({1.2, 1.2}, 0.05, kBlack);
    return std::move(sketch).picture();
  }
  std::vector<double> numbers() const override { return {angle_, turning_}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 2) return false;
    angle_ = numbers[0], turning_ = numbers[1];
    return true;
  }

  double gravity_, angle_ = 0, turning_ = 0;
};

}  // namespace

EnvironmentPtr pendulum(double gravity) {
  require<ArgumentError>(std::isfinite(gravity), "pendulum: gravity = ", gravity, " must be finite");
  return std::make_unique<Pendulum>(gravity);
}

}  // namespace kiln::rl
