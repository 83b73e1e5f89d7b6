// Selectors in configs.
#include "kiln/core/config/config.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/nn/module/rule.hpp"

namespace kiln {
namespace {

using Rule = Selector::Rule;

struct ToJson {
  static Json object(std::string key, Json value) { return {Json::Object{{std::move(key), std::move(value)}}}; }
  static Json list(const std::vector<Selector>& parts) {
    Json::List list;
    for (const Selector& part : parts) list.push_back(part.to_json());
    return {std::move(list)};
  }
  Json operator()(const Rule::Glob& glob) const { return {glob.pattern}; }
  Json operator()(const Rule::Pattern& pattern) const { return object("regex", {pattern.regex.pattern()}); }
  Json operator()(const Rule::Type& type) const { return object("type", {type.name}); }
  Json operator()(const Rule::Rank& rank) const {
    if (rank.least == rank.most) return object("rank", {std::int64_t{rank.least}});
    return object("rank", {Json::List{{std::int64_t{rank.least}}, {std::int64_t{rank.most}}}});
  }
  Json operator()(const Rule::Where&) const {
    fail<ConfigError>("a selector that is a function cannot be written as JSON");
  }
  Json operator()(const Rule::AllOf& all) const { return object("all", list(all.parts)); }
  Json operator()(const Rule::AnyOf& any) const { return object("any", list(any.parts)); }
  Json operator()(const Rule::Not& negation) const { return object("not", negation.part.to_json()); }
};

std::vector<Selector> parts_of(const Json& json, const config::ConfigPath& place) {
  std::vector<Selector> parts;
  const auto& list = config::expect<Json::List>(json, place, "a list");
  for (std::size_t i = 0; i < list.size(); ++i) parts.push_back(Selector::from_json(list[i], place.element(i)));
  return parts;
}

Selector read_selector(const Json& json, const config::ConfigPath& place) {
  if (const auto* const glob = std::get_if<std::string>(&json.is)) return Selector(*glob);
  const auto* const object = std::get_if<Json::Object>(&json.is);
  if (!object || object->size() != 1)
    config::throw_mismatch(place, json, "a pattern or an object with one of the keys regex, type, rank, all, any, not");
  const auto& [key, value] = object->front();
  const config::ConfigPath there = place.field(key);
  const auto string = [&]() -> const std::string& { return config::expect<std::string>(value, there, "a string"); };
  if (key == "regex") return Selector::regex(string());
  if (key == "type") return Selector::type(string());
  if (key == "all") return Selector::all_of(parts_of(value, there));
  if (key == "any") return Selector::any_of(parts_of(value, there));
  if (key == "not") return !Selector::from_json(value, there);
  if (key == "rank") {
    std::array<int, 2> ends{};
    if (std::holds_alternative<Json::List>(value.is)) config::read(value, ends, there);
    else config::read(value, ends[0], there), ends[1] = ends[0];
    return Selector::rank(ends[0], ends[1]);
  }
  static constexpr std::string_view kKeys[] = {"regex", "type", "rank", "all", "any", "not"};
  fail<ConfigError>(place.source, ": unknown key '", there.path, '\'', did_you_mean(key, kKeys));
}

}  // namespace

Json Selector::to_json() const { return std::visit(ToJson{}, rule_->is); }

Selector Selector::from_json(const Json& json, const config::ConfigPath& place) {
  try {
    return read_selector(json, place);
  } catch (const ArgumentError& error) {  // a wrong pattern
    fail<ConfigError>(place.source, ": ", place.path.empty() ? "" : text('\'', place.path, "': "), error.message());
  }
}

}  // namespace kiln
