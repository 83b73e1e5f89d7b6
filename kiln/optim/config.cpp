#include "kiln/optim/config.hpp"

#include "kiln/core/config/config.hpp"
#include "kiln/optim/schedule/combined.hpp"

namespace kiln {

AnyRule any_rule(const RuleConfig& config) {
  return std::visit([](const auto& rule) { return AnyRule(rule); }, config);
}

OptimizerOptions OptimizerConfig::options() const {
  OptimizerOptions options{.groups = {}, .clip = clip};
  if (!groups) return options;
  for (const GroupConfig& group : *groups)
    options.groups.push_back({.params = group.params, .rule = any_rule(group.rule), .rate = group.rate});
  return options;
}

Json AnySchedule::to_json() const { return kiln::to_json(config_); }

AnySchedule AnySchedule::from_json(const Json& json, const config::ConfigPath& place) {
  AnySchedule schedule;
  config::read(json, schedule.config_, place);
  return schedule;
}

Json LambdaConfig::to_json() const { fail<ConfigError>("LambdaConfig: a function cannot be written as JSON"); }

LambdaConfig LambdaConfig::from_json(const Json&, const config::ConfigPath& place) {
  fail<ConfigError>(place.source, ": '", place.path, "': JSON holds no functions");
}

}  // namespace kiln
