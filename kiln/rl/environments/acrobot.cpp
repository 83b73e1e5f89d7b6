#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/sketch.hpp"

namespace kiln::rl {
namespace {

constexpr double kPi = std::numbers::pi;

class Acrobot final : public Environment {
 public:
  Acrobot() : Environment("Acrobot", seen(), Space::discrete(3)) {}

 private:
  using State = std::array<double, 4>;  // two angles, the second from the first; their velocities
  static constexpr double kSeconds = 0.2, kGravity = 9.8, kMass = 1, kLength = 1, kCentre = 0.5, kInertia = 1;
  static constexpr double kFastest1 = 4 * kPi, kFastest2 = 9 * kPi;

  static Space seen() {
    const auto fast1 = static_cast<float>(kFastest1), fast2 = static_cast<float>(kFastest2);
    return Space::box({6}, {-1, -1, -1, -1, -fast1, -fast2}, {1, 1, 1, 1, fast1, fast2});
  }

  /// The equations of motion.
  static State derivative(const State& at, double torque) {
    const auto [angle1, angle2, turning1, turning2] = at;
    const double cosine = std::cos(angle2), sine = std::sin(angle2);
    const double d1 = kMass * kCentre * kCentre +
                      kMass * (kLength * kLength + kCentre * kCentre + 2 * kLength * kCentre * cosine) + 2 * kInertia;
    const double d2 = kMass * (kCentre * kCentre + kLength * kCentre * cosine) + kInertia;
    const double phi2 = kMass * kCentre * kGravity * std::cos(angle1 + angle2 - kPi / 2);
    const double phi1 = -kMass * kLength * kCentre * turning2 * turning2 * sine -
                        2 * kMass * kLength * kCentre * turning2 * turning1 * sine +
                        (kMass * kCentre + kMass * kLength) * kGravity * std::cos(angle1 - kPi / 2) + phi2;
    const double second = (torque + d2 / d1 * phi1 - kMass * kLength * kCentre * turning1 * turning1 * sine - phi2) /
                          (kMass * kCentre * kCentre + kInertia - d2 * d2 / d1);
    return {turning1, turning2, -(d2 * second + phi1) / d1, second};
  }
  /// Takes one step of the classical Runge-Kutta method.
  static State moved(const State& at, double torque) {
    const auto along = [&](const State& slope, double seconds) {
      State result = at;
      for (std::size_t i = 0; i < 4; ++i) result[i] += seconds * slope[i];
      return result;
    };
    const State k1 = derivative(at, torque), k2 = derivative(along(k1, kSeconds / 2), torque),
                k3 = derivative(along(k2, kSeconds / 2), torque), k4 = derivative(along(k3, kSeconds), torque);
    State result = at;
    for (std::size_t i = 0; i < 4; ++i) result[i] += kSeconds / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    return result;
  }
  /// Returns the angle in [-pi, pi].
  static double wrapped(double angle) {
    while (angle > kPi) angle -= 2 * kPi;
    while (angle < -kPi) angle += 2 * kPi;
    return angle;
  }

  void show(std::span<float> observation) const {
    const double shown[] = {std::cos(at_[0]), std::sin(at_[0]), std::cos(at_[1]), std::sin(at_[1]), at_[2], at_[3]};
    for (std::size_t i = 0; i < 6; ++i) observation[i] = static_cast<float>(shown[i]);
  }
  void begin(std::span<float> observation) override {
    for (double& number : at_) number = static_cast<float>(random().uniform(-0.1, 0.1));
    show(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    at_ = moved(at_, static_cast<double>(action[0]) - 1);
    at_ = {wrapped(at_[0]), wrapped(at_[1]), std::clamp(at_[2], -kFastest1, kFastest1),
           std::clamp(at_[3], -kFastest2, kFastest2)};
    show(observation);
    const bool up = -std::cos(at_[0]) - std::cos(at_[1] + at_[0]) > 1;
    return {.reward = up ? 0.0 : -1.0, .terminated = up};
  }
  Picture picture() const override {
    Sketch sketch(4.4, 4.4, 34);
    const Sketch::At hinge{2.2, 2.2}, joint{2.2 + std::sin(at_[0]), 2.2 - std::cos(at_[0])},
        tip{joint.x + std::sin(at_[0] + at_[1]), joint.y - std::cos(at_[0] + at_[1])};
    sketch.line({0, 3.2}, {4.4, 3.2}, 0.03, kBlack);
    sketch.line(hinge, joint, 0.2, kBlue);
    sketch.line(joint, tip, 0.2, kBlue);
    sketch.disc(hinge, 0.1, kGold);
    sketch.disc(joint, 0.1, kGold);
    return std::move(sketch).picture();
  }
  std::vector<double> numbers() const override { return {at_.begin(), at_.end()}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != at_.size() ||
        !std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::abs(number) <= kFastest2; }))
      return false;
    std::copy(numbers.begin(), numbers.end(), at_.begin());
    return true;
  }

  State at_{};
};

}  // namespace

EnvironmentPtr acrobot() { return std::make_unique<Acrobot>(); }

}  // namespace kiln::rl
