#include <algorithm>
#include <cmath>

#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/sketch.hpp"

namespace kiln::rl {
namespace {

constexpr double kLeftmost = -1.2, kRightmost = 0.6, kFastest = 0.07, kGravity = 0.0025;

/// The common part of both cars, which differ in their actions, rewards and goals.
class MountainCar : public Environment {
 protected:
  MountainCar(std::string name, Space actions, double goal)
      : Environment(std::move(name),
                    Space::box({2}, {static_cast<float>(kLeftmost), static_cast<float>(-kFastest)},
                               {static_cast<float>(kRightmost), static_cast<float>(kFastest)}),
                    std::move(actions)),
        goal_(goal) {}

  /// Answers whether the car has arrived.
  bool drive(double push, std::span<float> observation) {
    velocity_ = std::clamp(velocity_ + push - kGravity * std::cos(3 * position_), -kFastest, kFastest);
    position_ = std::clamp(position_ + velocity_, kLeftmost, kRightmost);
    if (position_ == kLeftmost && velocity_ < 0) velocity_ = 0;
    show(observation);
    return position_ >= goal_ && velocity_ >= 0;
  }
  void round_to_float() {
    position_ = static_cast<float>(position_);
    velocity_ = static_cast<float>(velocity_);
  }

 private:
  void show(std::span<float> observation) const {
    observation[0] = static_cast<float>(position_);
    observation[1] = static_cast<float>(velocity_);
  }
  void begin(std::span<float> observation) override {
    position_ = random().uniform(-0.6, -0.4);
    velocity_ = 0;
    show(observation);
  }
  Picture picture() const override {
    Sketch sketch(1.8, 1.2, 166);
    const auto ground = [](double x) { return Sketch::At{x - kLeftmost, 0.45 * std::sin(3 * x) + 0.55}; };
    for (double x = kLeftmost; x < kRightmost; x += 0.05) sketch.line(ground(x), ground(x + 0.05), 0.012, kBlack);
    const Sketch::At flag = ground(goal_), car = ground(position_);
    sketch.line(flag, {flag.x, flag.y + 0.15}, 0.012, kBlack);
    sketch.box({flag.x, flag.y + 0.15}, {flag.x + 0.08, flag.y + 0.1}, kGold);
    sketch.disc({car.x, car.y + 0.05}, 0.05, kBlue);
    return std::move(sketch).picture();
  }
  std::vector<double> numbers() const override { return {position_, velocity_}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 2) return false;
    position_ = numbers[0], velocity_ = numbers[1];
    return true;
  }

  double goal_, position_ = 0, velocity_ = 0;
};

class SteppedCar final : public MountainCar {
 public:
  SteppedCar() : MountainCar("MountainCar", Space::discrete(3), 0.5) {}

 private:
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    return {.reward = -1, .terminated = drive((static_cast<double>(action[0]) - 1) * 0.001, observation)};
  }
};

class ContinuousCar final : public MountainCar {
 public:
  ContinuousCar() : MountainCar("ContinuousMountainCar", Space::box({1}, -1, 1), 0.45) {}

 private:
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    const double force = action[0];
    const bool arrived = drive(force * 0.0015, observation);
    round_to_float();  // Gymnasium keeps this car's state in float32
    return {.reward = (arrived ? 100 : 0) - 0.1 * force * force, .terminated = arrived};
  }
};

}  // namespace

EnvironmentPtr mountain_car() { return std::make_unique<SteppedCar>(); }
EnvironmentPtr continuous_mountain_car() { return std::make_unique<ContinuousCar>(); }

}  // namespace kiln::rl
