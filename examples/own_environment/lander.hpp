// A probe that falls towards the ground, and an engine that brakes it: an environment of one's own.
#pragma once
#include "kiln/rl/environment.hpp"

namespace example {

/// Observes height / 100 m, velocity / 10 m/s (negative: falling) and the fuel that is left, 0 to 1. Actions: the engine is
/// off (0) or on (1), for half a second. The episode terminates at the ground. A landing is worth 10 and what fuel is left;
/// one that is faster than 2 m/s costs a fifth of the velocity beyond that.
class Lander final : public kiln::rl::Environment {
 public:
  Lander();

 private:
  // What every environment says.
  void begin(std::span<float> observation) override;
  kiln::rl::Outcome advance(std::span<const float> action, std::span<float> observation) override;
  // What one says that is drawn and saved.
  kiln::Picture picture() const override;
  std::vector<double> numbers() const override { return {height_, velocity_, fuel_, burns_ ? 1.0 : 0.0}; }
  bool take(std::span<const double> numbers) override;

  void observe(std::span<float> observation) const;

  double height_ = 0, velocity_ = 0, fuel_ = 0;
  bool burns_ = false;
};

}  // namespace example
