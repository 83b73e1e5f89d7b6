// A regular expression as a tree.
#pragma once
#include "kiln/onnx/operators/text/regex.hpp"

namespace kiln::onnx {

struct RegexTree {
  enum class Kind : std::uint8_t { Letter, Assert, Sequence, Choice, Repeat };
  Kind kind = Kind::Sequence;
  Regex::Ranges ranges;  // of a Letter: of any of these
  Regex::Place place = Regex::Place::Begin;
  std::vector<RegexTree> parts;
  int least = 0, most = 0;  // of a Repeat; most < 0: no end
};

/// Nothing, and a reason in `why`, where the pattern is none.
std::optional<RegexTree> parse_regex(std::string_view pattern, std::string& why);

}  // namespace kiln::onnx
