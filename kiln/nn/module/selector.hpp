// Selector: a description of some of a model's parameters: what to freeze, what a group of an optimizer trains, what to
// load.
//
//   "head"                                          all in the module `head`, or the parameter of that name
//   "blocks.*.attention"   "**.bias"                * is one name or a part of one, ** any number of names
//   !Selector("head")      Selector::type("LayerNorm") || "**.bias"      Selector::rank(2) && "blocks"
//
// In JSON: "head", {"regex": "blocks\\.[0-3]\\..*"}, {"type": "Linear"}, {"rank": 2}, {"rank": [0, 1]},
// {"all": [...]}, {"any": [...]}, {"not": ...}.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/nn/module.hpp"

namespace kiln {

struct Json;
namespace config {
struct ConfigPath;
}

/// A parameter or buffer that may be selected.
struct Candidate {
  std::span<const nn::PartPath> places;  // all places in which it occurs; a tied one has several
  const Value& value;                    // empty if only names are known: those of a file
  bool is_frozen = false;
};

class [[nodiscard("a selector does nothing: it says which parameters are meant")]] Selector {
 public:
  /// A pattern of paths (Regex::glob). It selects what it matches; if that is a module, all in it.
  Selector(std::string_view glob);
  Selector(const char* glob) : Selector(std::string_view(glob)) {}
  Selector(const std::string& glob) : Selector(std::string_view(glob)) {}

  static Selector all();
  static Selector none();
  /// The regular expression must match the whole path (kiln/core/regex/regex.hpp). Throws ArgumentError.
  static Selector regex(std::string_view pattern);
  /// Parameters in a module of this type, at any depth: "LayerNorm".
  static Selector type(std::string_view name);
  /// Parameters with at least `least` and at most `most` dimensions.
  static Selector rank(int least, int most);
  static Selector rank(int exactly) { return rank(exactly, exactly); }
  /// Parameters for which a function returns true; JSON cannot hold it.
  static Selector where(std::function<bool(const Candidate&)> predicate);
  static Selector all_of(std::vector<Selector> parts);
  static Selector any_of(std::vector<Selector> parts);

  friend Selector operator&&(const Selector& a, const Selector& b) { return all_of({a, b}); }
  friend Selector operator||(const Selector& a, const Selector& b) { return any_of({a, b}); }
  friend Selector operator!(const Selector& a);

  /// A parameter that is in several places is selected if a pattern, regular expression or type matches any of them.
  bool matches(const Candidate& candidate) const;
  /// Matches by name alone, for tensors of a file: rules of types and ranks match none.
  bool matches(std::string_view path) const;

  /// The paths without wildcards in it, !Selector("head") included: each is meant to be there.
  std::vector<std::string_view> paths() const;

  /// Throws ConfigError for a selector that is, or contains, a function.
  Json to_json() const;
  /// Throws ConfigError, with the place of the value.
  static Selector from_json(const Json& json, const config::ConfigPath& place);

  friend void append(std::string& out, const Selector& selector);

  struct Rule;

 private:
  explicit Selector(Rule rule);
  std::shared_ptr<const Rule> rule_;
};

namespace nn {

/// A parameter of a model and all of its places, the first of which is the path that visit_params() gives.
struct ParamWithPaths {
  std::vector<PartPath> places;
  Value value;
  bool is_frozen;
};
std::vector<ParamWithPaths> params_with_paths(const ModuleView& model);

/// Paths as visit_params() gives them.
using Paths = std::set<std::string, std::less<>>;

/// Throws ArgumentError if `selector` selects none, unless it is Selector::none(), or if one of its paths() does.
Paths selected(std::string_view function, const std::vector<ParamWithPaths>& params, const Selector& selector);

}  // namespace nn

/// The paths of the selected parameters, as visit_params() gives them. Throws ArgumentError if there are none, or none
/// of one of the selector's paths(): a name may be wrong.
nn::Paths selected_params(const nn::ModuleView& model, const Selector& selector);

}  // namespace kiln
