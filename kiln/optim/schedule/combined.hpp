// Any schedule, and combinations of schedules: one after the other, several at once, one for each group of parameters.
#pragma once
#include <functional>
#include <variant>
#include <vector>

#include "kiln/optim/one_of.hpp"
#include "kiln/optim/schedule/cycle.hpp"
#include "kiln/optim/schedule/decay.hpp"

namespace kiln {

class AnySchedule;
struct Json;
namespace config {
struct ConfigPath;
}

/// A function of the step. It cannot be written as JSON; its step is saved as for any schedule.
struct LambdaConfig {
  static constexpr std::string_view kName = "Lambda";
  std::function<double(std::int64_t)> rate;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;    // throws if there is no function
  Json to_json() const;  // both throw ConfigError
  static LambdaConfig from_json(const Json& json, const config::ConfigPath& place);
  Schedule<LambdaConfig> init() const;
};

/// The first of `parts` up to the first of `milestones`, then the second, and so on; each counts its steps from 0.
struct SequentialConfig {
  static constexpr std::string_view kName = "Sequential";
  std::vector<AnySchedule> parts;
  std::vector<std::int64_t> milestones;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // milestones rise, and are one fewer than parts
  Schedule<SequentialConfig> init() const;
};

/// Combines all of `parts` at each step.
struct ComposedConfig {
  static constexpr std::string_view kName = "Composed";
  enum class By : std::uint8_t { Product, Sum, Mean };
  std::vector<AnySchedule> parts;
  By by = By::Product;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // throws if there are no parts
  Schedule<ComposedConfig> init() const;
};

/// Any of Kiln's schedules that compute a single rate from the step alone, as a value; in JSON by its name: {"Cosine":
/// {"peak": 0.001, "steps": 1000}}. PerGroup, which gives several rates, and ReduceOnPlateau, which observes a metric,
/// are not among them: they are read by load_config<PerGroupConfig>(file) and load_config<ReduceOnPlateauConfig>(file).
class AnySchedule {
 public:
  using Variant =
      std::variant<ConstantConfig, LinearRateConfig, StepConfig, MultiStepConfig, ExponentialConfig, PolynomialConfig,
                   NoamConfig, CosineConfig, CosineRestartsConfig, WarmupStableDecayConfig, OneCycleConfig,
                   CyclicConfig, LambdaConfig, SequentialConfig, ComposedConfig>;
  AnySchedule();
  AnySchedule(const AnySchedule&);
  AnySchedule(AnySchedule&&) noexcept;
  AnySchedule& operator=(const AnySchedule&);
  AnySchedule& operator=(AnySchedule&&) noexcept;
  ~AnySchedule();
  template <class Config>
  requires kIsOneOf<Config, Variant> AnySchedule(Config config) : config_(std::move(config)) {}

  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;
  Schedule<AnySchedule> init() const { return check(), Schedule<AnySchedule>{*this}; }
  const Variant& variant() const { return config_; }
  /// Throws ConfigError for a schedule that is, or contains, a function.
  Json to_json() const;
  /// Throws ConfigError, with the place of the value.
  static AnySchedule from_json(const Json& json, const config::ConfigPath& place);

 private:
  Variant config_;
};

/// A schedule for each group of an optimizer's parameters, first that of its own rule: gives the Rates that step()
/// takes.
struct PerGroupConfig {
  static constexpr std::string_view kName = "PerGroup";
  std::vector<AnySchedule> groups;
  [[nodiscard("at() says a rate: it sets none")]] std::vector<double> at(std::int64_t step) const;
  void check() const;
  Schedule<PerGroupConfig> init() const;
};

}  // namespace kiln
