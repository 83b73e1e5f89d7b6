#include <algorithm>

#include "cli/commands.hpp"
#include "kiln/core/config.hpp"
#include "kiln/optim/schedule/plot.hpp"

namespace kiln::cli {
namespace {

constexpr std::string_view kName = "schedule", kParts = "parts";
constexpr int kDeepest = 16;

AnySchedule schedule_of(const Json& json, const std::string& source, int depth);

/// Takes the value of `key` out of an object; null where it has none.
Json take(Json::Object& object, std::string_view key) {
  const auto found = std::find_if(object.begin(), object.end(), [&](const auto& entry) { return entry.first == key; });
  if (found == object.end()) return {};
  Json value = std::move(found->second);
  object.erase(found);
  return value;
}

std::vector<AnySchedule> parts_of(Json::Object& object, const std::string& source, int depth) {
  const Json parts = take(object, kParts);
  std::vector<AnySchedule> schedules;
  const config::Place place{source, std::string(kParts)};
  for (const Json& part : config::expect<Json::List>(parts, place, "a list of schedules"))
    schedules.push_back(schedule_of(part, source, depth + 1));
  return schedules;
}

/// What a Sequential and a Composed have beside their parts.
struct Milestones {
  std::vector<std::int64_t> milestones;
};
struct By {
  ComposedConfig::By by = ComposedConfig::By::Product;
};

template <class T>
AnySchedule read(Json::Object object, const std::string& source, int depth) {
  if constexpr (std::is_same_v<T, SequentialConfig>) {
    auto parts = parts_of(object, source, depth);
    return SequentialConfig{std::move(parts), from_json<Milestones>(Json{std::move(object)}, source).milestones};
  } else if constexpr (std::is_same_v<T, ComposedConfig>) {
    auto parts = parts_of(object, source, depth);
    return ComposedConfig{std::move(parts), from_json<By>(Json{std::move(object)}, source).by};
  } else if constexpr (std::is_same_v<T, LambdaConfig>) {
    fail<ConfigError>(source, ": a Lambda is a function of a program, which no file holds");
  } else {
    return from_json<T>(Json{std::move(object)}, source);
  }
}

/// {"schedule": "Cosine", "peak": 0.1, "steps": 1000}: a config's fields beside its name.
AnySchedule schedule_of(const Json& json, const std::string& source, int depth) {
  require<ConfigError>(depth <= kDeepest, source, ": schedules nested more than ", kDeepest, " deep");
  Json::Object object = config::expect<Json::Object>(json, {source, ""}, "an object");
  const Json wanted = take(object, kName);
  const std::string name = config::expect<std::string>(wanted, {source, std::string(kName)}, "the name of a schedule");
  std::vector<std::string_view> names;
  AnySchedule found;
  bool known = false;
  const auto attempt = [&]<class T>(std::type_identity<T>) {
    names.push_back(T::kName);
    if (name != T::kName) return;
    found = read<T>(object, source, depth);
    known = true;
  };
  [&]<class... T>(std::type_identity<std::variant<T...>>) {
    (attempt(std::type_identity<T>()), ...);
  }(std::type_identity<AnySchedule::Variant>());
  if (!known) fail<ConfigError>(source, ": there is no schedule '", shown(name), '\'', did_you_mean(name, names));
  return found;
}

}  // namespace

std::string plot_schedule(const PlotScheduleOptions& options) {
  const AnySchedule schedule = schedule_of(parse_json(read_text_file(options.file), options.file), options.file, 0);
  schedule.check();
  return plot(schedule, options.steps, {.width = options.width, .height = options.height});
}

}  // namespace kiln::cli
