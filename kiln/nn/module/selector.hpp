// Selector: some of a model's parameters, said once: what to freeze, what a group of an optimizer trains, what is loaded.
//
//   "head"                                          all that is in the module `head`, or the parameter of that name
//   "blocks.*.attention"   "**.bias"                * is one name or a part of it, ** any number of them
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
struct Place;
}

/// A parameter or buffer that may be selected.
struct Candidate {
  std::span<const nn::Place> places;  // all in which it stands: a tied one is in several
  const Value& value;                 // empty where only names are known: those of a file
  bool is_frozen = false;
};

class [[nodiscard("a selector does nothing: it says which parameters are meant")]] Selector {
 public:
  /// A pattern of paths (Regex::glob). It selects what it names, and where that is a module all that is in it.
  Selector(std::string_view glob);
  Selector(const char* glob) : Selector(std::string_view(glob)) {}
  Selector(const std::string& glob) : Selector(std::string_view(glob)) {}

  static Selector all();
  static Selector none();
  /// The path as a whole is what the regular expression says (kiln/core/regex/regex.hpp). Throws ArgumentError.
  static Selector regex(std::string_view pattern);
  /// In a module of this type, at any depth: "LayerNorm".
  static Selector type(std::string_view name);
  /// Of at least `least` and at most `most` dimensions.
  static Selector rank(int least, int most);
  static Selector rank(int exactly) { return rank(exactly, exactly); }
  /// Whatever a function says; JSON cannot hold it.
  static Selector where(std::function<bool(const Candidate&)> predicate);
  static Selector all_of(std::vector<Selector> parts);
  static Selector any_of(std::vector<Selector> parts);

  friend Selector operator&&(const Selector& a, const Selector& b) { return all_of({a, b}); }
  friend Selector operator||(const Selector& a, const Selector& b) { return any_of({a, b}); }
  friend Selector operator!(const Selector& a);

  /// A pattern, regular expression or type selects a parameter that is in several places by any of them.
  bool matches(const Candidate& candidate) const;
  /// By its name alone, as tensors of a file are selected: types and ranks are those of none.
  bool matches(std::string_view path) const;

  /// Throws ConfigError for one that is, or is made of, a function.
  Json to_json() const;
  /// Throws ConfigError, with the value's place.
  static Selector from_json(const Json& json, const config::Place& place);

  friend void append(std::string& out, const Selector& selector);

  struct Rule;

 private:
  explicit Selector(Rule rule);
  std::shared_ptr<const Rule> rule_;
};

namespace nn {

/// A parameter of a model and all of its places, the first of which is the path that visit_params() gives.
struct PlacedParam {
  std::vector<Place> places;
  Value value;
  bool is_frozen;
};
std::vector<PlacedParam> placed_params(const ModuleView& model);

/// Paths as visit_params() gives them.
using Paths = std::set<std::string, std::less<>>;

/// Throws ArgumentError where `selector` selects none, though it is not Selector::none().
Paths selected(std::string_view function, const std::vector<PlacedParam>& params, const Selector& selector);

}  // namespace nn

/// The paths of the parameters that `selector` selects, those by which visit_params() visits them. Throws ArgumentError
/// where there are none: a name may be wrong.
nn::Paths selected_params(const nn::ModuleView& model, const Selector& selector);

}  // namespace kiln
