#include "kiln/optim/schedule/combined.hpp"

#include <algorithm>

namespace kiln {
namespace {

void check_all(const std::vector<AnySchedule>& parts) {
  for (const AnySchedule& part : parts) part.check();
}

}  // namespace

AnySchedule::AnySchedule() = default;
AnySchedule::AnySchedule(const AnySchedule&) = default;
AnySchedule::AnySchedule(AnySchedule&&) noexcept = default;
AnySchedule& AnySchedule::operator=(const AnySchedule&) = default;
AnySchedule& AnySchedule::operator=(AnySchedule&&) noexcept = default;
AnySchedule::~AnySchedule() = default;

double AnySchedule::at(std::int64_t step) const {
  return std::visit([&](const auto& config) { return config.at(step); }, config_);
}
void AnySchedule::check() const {
  std::visit([](const auto& config) { config.check(); }, config_);
}

double LambdaConfig::at(std::int64_t step) const {
  check();
  return rate(step);
}

double SequentialConfig::at(std::int64_t step) const {
  check();
  const auto next = std::ranges::upper_bound(milestones, step);
  const std::int64_t start = next == milestones.begin() ? 0 : *(next - 1);
  return parts[static_cast<std::size_t>(next - milestones.begin())].at(step - start);
}

double ComposedConfig::at(std::int64_t step) const {
  check();
  double result = by == By::Product ? 1 : 0;
  for (const AnySchedule& part : parts) {
    if (by == By::Product) result *= part.at(step);
    else result += part.at(step);
  }
  return by == By::Mean ? result / static_cast<double>(parts.size()) : result;
}

std::vector<double> PerGroupConfig::at(std::int64_t step) const {
  check();
  std::vector<double> rates;
  for (const AnySchedule& group : groups) rates.push_back(group.at(step));
  return rates;
}

void LambdaConfig::check() const { require<ArgumentError>(rate != nullptr, "LambdaConfig: there is no function"); }

void SequentialConfig::check() const {
  require<ArgumentError>(parts.size() == milestones.size() + 1, "SequentialConfig: ", parts.size(), " parts need ",
                         parts.empty() ? "to be some" : text(parts.size() - 1, " milestones"), ", got ",
                         milestones.size());
  require<ArgumentError>(std::ranges::is_sorted(milestones) && (milestones.empty() || milestones[0] >= 0),
                         "SequentialConfig: milestones must rise, from 0");
  check_all(parts);
}

void ComposedConfig::check() const {
  require<ArgumentError>(!parts.empty(), "ComposedConfig: there are no parts");
  check_all(parts);
}

void PerGroupConfig::check() const {
  require<ArgumentError>(!groups.empty(), "PerGroupConfig: there are no groups");
  check_all(groups);
}

#define KILN_INIT(Config) \
  Schedule<Config> Config::init() const { return check(), Schedule<Config>{*this}; }
KILN_INIT(LambdaConfig)
KILN_INIT(SequentialConfig)
KILN_INIT(ComposedConfig)
KILN_INIT(PerGroupConfig)
#undef KILN_INIT

}  // namespace kiln
