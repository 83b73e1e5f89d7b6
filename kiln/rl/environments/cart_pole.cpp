#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/sketch.hpp"

namespace kiln::rl {
namespace {

class CartPole final : public Environment {
 public:
  CartPole() : Environment("CartPole", seen(), Space::discrete(2)) {}

 private:
  static constexpr double kGravity = 9.8, kCart = 1.0, kPole = 0.1, kTotal = kCart + kPole;  // kg
  static constexpr double kHalfLength = 0.5, kForce = 10, kSeconds = 0.02;
  static constexpr double kFarthest = 2.4, kSteepest = 12 * 2 * std::numbers::pi / 360;

  /// Twice the limits that end an episode, so that its last state is inside the space.
  static Space seen() {
    const float endless = std::numeric_limits<float>::infinity();
    const auto far = static_cast<float>(2 * kFarthest), steep = static_cast<float>(2 * kSteepest);
    return Space::box({4}, {-far, -endless, -steep, -endless}, {far, endless, steep, endless});
  }

  void show(std::span<float> observation) const {
    for (std::size_t i = 0; i < 4; ++i) observation[i] = static_cast<float>(at_[i]);
  }
  void begin(std::span<float> observation) override {
    for (double& number : at_) number = random().uniform(-0.05, 0.05);
    show(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    auto& [x, velocity, angle, turning] = at_;
    const double force = action[0] == 1 ? kForce : -kForce;
    const double cosine = std::cos(angle), sine = std::sin(angle);
    const double push = (force + kPole * kHalfLength * turning * turning * sine) / kTotal;
    const double turn =
        (kGravity * sine - cosine * push) / (kHalfLength * (4.0 / 3.0 - kPole * cosine * cosine / kTotal));
    const double acceleration = push - kPole * kHalfLength * turn * cosine / kTotal;
    x += kSeconds * velocity;
    velocity += kSeconds * acceleration;
    angle += kSeconds * turning;
    turning += kSeconds * turn;
    show(observation);
    return {.reward = 1, .terminated = !(std::abs(x) <= kFarthest && std::abs(angle) <= kSteepest)};
  }
  Picture picture() const override {
    Sketch sketch(4.8, 2.4, 62.5);
    const double x = at_[0] + kFarthest;
    sketch.line({0, 0.6}, {4.8, 0.6}, 0.02, kBlack);
    sketch.box({x - 0.2, 0.5}, {x + 0.2, 0.74}, kBlack);
    sketch.line({x, 0.7}, {x + std::sin(at_[2]), 0.7 + std::cos(at_[2])}, 0.08, kGold);
    sketch.disc({x, 0.7}, 0.04, kBlue);
    return std::move(sketch).picture();
  }
  std::vector<double> numbers() const override { return {at_.begin(), at_.end()}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != at_.size()) return false;
    std::copy(numbers.begin(), numbers.end(), at_.begin());
    return true;
  }

  std::array<double, 4> at_{};  // position, velocity, angle, velocity of the angle
};

}  // namespace

EnvironmentPtr cart_pole() { return std::make_unique<CartPole>(); }

}  // namespace kiln::rl
