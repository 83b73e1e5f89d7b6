#include "kiln/nn/module/selector.hpp"

#include <algorithm>
#include <map>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/nn/module/rule.hpp"
#include "kiln/nn/module/selects_none.hpp"

namespace kiln {
namespace {

using Rule = Selector::Rule;

struct Matches {
  const Candidate& candidate;

  template <class F>
  bool anywhere(F&& holds) const {
    return std::any_of(candidate.places.begin(), candidate.places.end(), holds);
  }
  bool operator()(const Rule::Glob& glob) const {
    return anywhere([&](const nn::PartPath& place) { return glob.regex.matches(place.path); });
  }
  bool operator()(const Rule::Pattern& pattern) const {
    return anywhere([&](const nn::PartPath& place) { return pattern.regex.matches(place.path); });
  }
  bool operator()(const Rule::Type& type) const {
    return anywhere([&](const nn::PartPath& place) {
      return std::find(place.types.begin(), place.types.end(), type.name) != place.types.end();
    });
  }
  bool operator()(const Rule::Rank& rank) const {
    return candidate.value && rank.least <= candidate.value.rank() && candidate.value.rank() <= rank.most;
  }
  bool operator()(const Rule::Where& where) const { return where.predicate(candidate); }
  bool operator()(const Rule::AllOf& all) const {
    return std::all_of(all.parts.begin(), all.parts.end(),
                       [&](const Selector& part) { return part.matches(candidate); });
  }
  bool operator()(const Rule::AnyOf& any) const {
    return std::any_of(any.parts.begin(), any.parts.end(),
                       [&](const Selector& part) { return part.matches(candidate); });
  }
  bool operator()(const Rule::Not& negation) const { return !negation.part.matches(candidate); }
};

/// Writes a selector as C++.
struct Write {
  std::string& out;

  void list(const std::vector<Selector>& parts, std::string_view between, std::string_view of_none) const {
    if (parts.empty()) out += of_none;
    for (std::size_t i = 0; i < parts.size(); ++i)
      append(out, text(i ? between : i + 1 < parts.size() ? "(" : "", parts[i]));
    if (parts.size() > 1) out += ')';
  }
  void operator()(const Rule::Glob& glob) const { append(out, text('\'', shown(glob.pattern), '\'')); }
  void operator()(const Rule::Pattern& pattern) const {
    append(out, text("regex '", shown(pattern.regex.pattern()), '\''));
  }
  void operator()(const Rule::Type& type) const { append(out, text("type ", shown(type.name))); }
  void operator()(const Rule::Rank& rank) const {
    append(out, rank.least == rank.most ? text("rank ", rank.least) : text("rank ", rank.least, " to ", rank.most));
  }
  void operator()(const Rule::Where&) const { out += "a function"; }
  void operator()(const Rule::AllOf& all) const { list(all.parts, " && ", "all"); }
  void operator()(const Rule::AnyOf& any) const { list(any.parts, " || ", "none"); }
  void operator()(const Rule::Not& negation) const { append(out, text('!', negation.part)); }
};

/// Collects the paths without wildcards.
struct CollectPaths {
  std::vector<std::string_view>& paths;

  void add(const Selector& part) const {
    for (const std::string_view path : part.paths()) paths.push_back(path);
  }
  void operator()(const Rule::Glob& glob) const {
    if (glob.is_path()) paths.push_back(glob.pattern);
  }
  void operator()(const Rule::AllOf& all) const {
    std::ranges::for_each(all.parts, [&](auto& part) { add(part); });
  }
  void operator()(const Rule::AnyOf& any) const {
    std::ranges::for_each(any.parts, [&](auto& part) { add(part); });
  }
  void operator()(const Rule::Not& negation) const { add(negation.part); }
  void operator()(const auto&) const {}
};

}  // namespace

Selector::Selector(Rule rule) : rule_(std::make_shared<const Rule>(std::move(rule))) {}
Selector::Selector(std::string_view glob) : Selector(Rule{Rule::Glob{std::string(glob), Regex::glob(glob)}}) {
  require<ArgumentError>(!glob.empty(), "Selector: an empty pattern; Selector::all() selects everything");
}
Selector Selector::all() { return all_of({}); }
Selector Selector::none() { return any_of({}); }
Selector Selector::regex(std::string_view pattern) { return Selector(Rule{Rule::Pattern{Regex(pattern)}}); }
Selector Selector::type(std::string_view name) { return Selector(Rule{Rule::Type{std::string(name)}}); }
Selector Selector::rank(int least, int most) {
  require<ArgumentError>(0 <= least && least <= most, "Selector: ranks from ", least, " to ", most);
  return Selector(Rule{Rule::Rank{least, most}});
}
Selector Selector::where(std::function<bool(const Candidate&)> predicate) {
  require<ArgumentError>(static_cast<bool>(predicate), "Selector: an empty function");
  return Selector(Rule{Rule::Where{std::move(predicate)}});
}
Selector Selector::all_of(std::vector<Selector> parts) {
  return or_memory_error("a selector", [&] { return Selector(Rule{Rule::AllOf{std::move(parts)}}); });
}
Selector Selector::any_of(std::vector<Selector> parts) {
  return or_memory_error("a selector", [&] { return Selector(Rule{Rule::AnyOf{std::move(parts)}}); });
}
Selector operator!(const Selector& a) { return Selector(Rule{Rule::Not{a}}); }

bool Selector::matches(const Candidate& candidate) const { return std::visit(Matches{candidate}, rule_->is); }
bool Selector::matches(std::string_view path) const {
  const nn::PartPath place{std::string(path), {}};
  return matches(Candidate{{&place, 1}, Value()});
}

std::vector<std::string_view> Selector::paths() const {
  std::vector<std::string_view> paths;
  std::visit(CollectPaths{paths}, rule_->is);
  return paths;
}

void append(std::string& out, const Selector& selector) { std::visit(Write{out}, selector.rule_->is); }

namespace nn {

std::vector<ParamWithPaths> params_with_paths(const ModuleView& model) {
  std::vector<ParamWithPaths> params;
  std::map<const void*, std::size_t> known;
  const auto place_it = [&](const PartPath& place, const AnyLeaf& leaf) {
    if (!leaf.is_param() || leaf.empty()) return;
    const auto [found, fresh] = known.emplace(leaf.identity().get(), params.size());
    if (fresh) params.push_back({{}, leaf.value(), leaf.is_frozen()});
    params[found->second].places.push_back(place);
  };
  walk(model, place_it, Visits::InEachPlace);
  return params;
}

namespace {

[[noreturn]] void fail_selects_none(std::string_view function, const std::string& description, std::string_view of_what,
                                    std::span<const std::string_view> names) {
  std::set<std::string_view> nameable;  // the parameters, and the modules around them
  for (const std::string_view path : names) {
    nameable.insert(path);
    for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
      nameable.insert(path.substr(0, dot));
  }
  std::string_view name = description;
  if (name.starts_with('\'')) name = name.substr(1, name.size() - 2);
  fail<ArgumentError>(function, ": ", description, " selects none of ", of_what,
                      did_you_mean(name, std::vector(nameable.begin(), nameable.end())));
}

}  // namespace

void throw_selects_none(std::string_view function, const Selector& selector, std::string_view of_what,
                        std::span<const std::string_view> names) {
  const std::string description = text(selector);
  if (description != text(Selector::none())) fail_selects_none(function, description, of_what, names);
}

Paths selected(std::string_view function, const std::vector<ParamWithPaths>& params, const Selector& selector) {
  Paths paths;
  std::vector<std::string_view> names;
  for (const ParamWithPaths& param : params) {
    for (const PartPath& place : param.places) names.push_back(place.path);
    if (selector.matches(Candidate{param.places, param.value, param.is_frozen})) paths.insert(param.places[0].path);
  }
  // A path that is not there is a wrong name, also where the other parts of the selector select something.
  for (const std::string_view path : selector.paths())
    if (const Selector named(path); std::ranges::none_of(names, [&](auto name) { return named.matches(name); }))
      throw_selects_none(function, named, "the model's parameters", names);
  if (paths.empty()) throw_selects_none(function, selector, "the model's parameters", names);
  return paths;
}

}  // namespace nn

nn::Paths selected_params(const nn::ModuleView& model, const Selector& selector) {
  return nn::selected("selected_params", nn::params_with_paths(model), selector);
}

}  // namespace kiln
