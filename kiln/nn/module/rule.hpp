// The rules of a Selector, for its evaluation and output.
#pragma once
#include <variant>

#include "kiln/core/regex/regex.hpp"
#include "kiln/nn/module/selector.hpp"

namespace kiln {

struct Selector::Rule {
  struct Glob {
    std::string pattern;
    Regex regex;
    /// Does it name one parameter or module?
    bool is_path() const { return pattern.find_first_of("*?[]{}\\") == pattern.npos; }
  };
  struct Pattern {
    Regex regex;
  };
  struct Type {
    std::string name;
  };
  struct Rank {
    int least, most;
  };
  struct Where {
    std::function<bool(const Candidate&)> predicate;
  };
  struct AllOf {
    std::vector<Selector> parts;
  };
  struct AnyOf {
    std::vector<Selector> parts;
  };
  struct Not {
    Selector part;
  };
  std::variant<Glob, Pattern, Type, Rank, Where, AllOf, AnyOf, Not> is;
};

}  // namespace kiln
