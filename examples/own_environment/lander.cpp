#include "lander.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/rl/sketch.hpp"

namespace example {

using namespace kiln;

namespace {

constexpr double kSeconds = 0.5, kGravity = -1.6, kThrust = 4, kFuelPerStep = 0.04;  // m/s^2; the moon's gravity
constexpr double kGentle = 2;                                                        // m/s
constexpr float kFar = 10;  // heights and velocities stay far below that

}  // namespace

Lander::Lander()
    : Environment("Lander", rl::Space::box({3}, {-kFar, -kFar, 0}, {kFar, kFar, 1}), rl::Space::discrete(2)) {}

void Lander::observe(std::span<float> observation) const {
  observation[0] = static_cast<float>(height_ / 100);
  observation[1] = static_cast<float>(velocity_ / 10);
  observation[2] = static_cast<float>(fuel_);
}

void Lander::begin(std::span<float> observation) {
  height_ = random().uniform(60, 100);
  velocity_ = random().uniform(-5, 0);
  fuel_ = 1;
  burns_ = false;
  observe(observation);
}

rl::Outcome Lander::advance(std::span<const float> action, std::span<float> observation) {
  burns_ = action[0] == 1 && fuel_ > 0;
  if (burns_) fuel_ = std::max(0.0, fuel_ - kFuelPerStep);
  velocity_ += kSeconds * (kGravity + (burns_ ? kThrust : 0));
  height_ += kSeconds * velocity_;
  observe(observation);
  if (height_ > 0) return {};
  const double excess = std::abs(velocity_) - kGentle;
  return {.reward = excess <= 0 ? 10 + fuel_ : -excess / 5, .terminated = true};
}

Picture Lander::picture() const {
  rl::Sketch sketch(60, 120, 2, rl::kBlack);
  const double y = std::max(height_, 0.0) + 10;
  sketch.box({0, 0}, {60, 8}, rl::kGrey);
  if (burns_) sketch.line({30, y - 2}, {30, y - 7}, 3, rl::kGold);
  sketch.box({26, y - 2}, {34, y + 5}, rl::kWhite);
  sketch.box({2, 112}, {2 + 56 * fuel_, 116}, rl::kGreen);
  return std::move(sketch).picture();
}

bool Lander::take(std::span<const double> numbers) {
  if (numbers.size() != 4 || !std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); }))
    return false;
  height_ = numbers[0], velocity_ = numbers[1], fuel_ = numbers[2], burns_ = numbers[3] != 0;
  return true;
}

}  // namespace example
