// The base class of environments that wrap another one.
#pragma once
#include "kiln/rl/environment.hpp"

namespace kiln::rl {

class Wrapper : public Environment {
 protected:
  /// Throws ArgumentError for a null environment.
  /// It is passed by reference, so that `observations` may be made of it.
  Wrapper(std::string_view function, EnvironmentPtr&& inner, Space observations);
  Wrapper(std::string_view function, EnvironmentPtr&& inner);

  Environment& inner() { return *inner_; }
  const Environment& inner() const { return *inner_; }

 private:
  /// The wrapper's own numbers, in addition to those of the inner environment.
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
