#include "kiln/train/facts.hpp"

#include <utility>

#include "kiln/optim/rules/all.hpp"

namespace kiln::training {
namespace {

/// {"AdamW": {"beta1": 0.9, ...}}; for a custom rule its name.
Json rule_fact(const AnyRule& rule) {
  Json found{std::string(rule.name())};
  [&]<class... R>(const std::variant<R...>*) {
    const auto take = [&]<class Rule>(const Rule* own) {
      if (own) found = Json{Json::Object{{std::string(Rule::kName), to_json(*own)}}};
    };
    (take(rule.as<R>()), ...);
  }(static_cast<const RuleConfig*>(nullptr));
  return found;
}

}  // namespace

Json fact(FunctionRef<Json()> describe) {
  try {
    Json said = describe();
    write_json(said);
    return said;
  } catch (const MemoryError&) { throw; } catch (const Error&) {
    return {};
  }
}

Json optimizer_fact(std::span<const ParamGroup> groups, const ClipOptions& clip) {
  Json::Object said{{"clip", fact([&] { return to_json(clip); })}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Json::Object group{{"params", fact([&] { return groups[i].params.to_json(); })},
                       {"rule", fact([&] { return rule_fact(groups[i].rule); })},
                       {"rate", Json{groups[i].rate}}};
    said.emplace_back(text("group ", i), Json{std::move(group)});
  }
  return Json{std::move(said)};
}

}  // namespace kiln::training
