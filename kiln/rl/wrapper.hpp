// What environments around another share.
#pragma once
#include "kiln/rl/environment.hpp"

namespace kiln::rl {

class Wrapper : public Environment {
 protected:
  /// Throws ArgumentError where there is no environment.
  /// By reference, so that `observations` may be made of it.
  Wrapper(std::string_view function, EnvironmentPtr&& inner, Space observations);
  Wrapper(std::string_view function, EnvironmentPtr&& inner);

  Environment& inner() { return *inner_; }
  const Environment& inner() const { return *inner_; }

 private:
  /// A wrapper's own numbers, beside those of the environment in it.
  virtual std::vector<double> own_numbers() const { return {}; }
  virtual bool take_own(std::span<const double> numbers) { return numbers.empty(); }

  void begin(std::span<float> observation) override { inner().reset(observation); }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    return inner().step(action, observation);
  }
  Picture picture() const final { return inner().render(); }
  void seeded(std::uint64_t seed) final { inner_->seed(seed); }
  std::vector<double> numbers() const final;
  bool take(std::span<const double> numbers) final;

  EnvironmentPtr inner_;
};

}  // namespace kiln::rl
