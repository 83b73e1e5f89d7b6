// Regular expressions as RE2 reads them (github.com/google/re2/wiki/Syntax), for whole words: all states at once (Thompson
// 1968), so that time grows with the word's length times the pattern's, whatever they are.
//
// There are no Unicode classes (\pL), and what is matched in either case (?i) is ASCII.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::onnx {

class Regex {
 public:
  /// Nothing, and a reason in `why`, where the pattern (UTF-8) is none, or makes more than 16,384 states.
  static std::optional<Regex> parse(std::string_view pattern, std::string& why);

  /// Does the pattern match all of the word? Bytes that are no UTF-8 count as the letter U+FFFD each.
  bool matches(std::string_view word) const;

  enum class Place : std::uint8_t {
    Begin,
    End,
    LineBegin,
    LineEnd,
    Boundary,
    NoBoundary
  };  // ^ $ of text or line, \b \B
  using Ranges = std::vector<std::pair<char32_t, char32_t>>;  // from the least letter on

  struct State {
    enum class Kind : std::uint8_t { Letter, Split, Assert, Match };
    Kind kind;
    Place place = Place::Begin;
    std::uint32_t next = 0, other = 0;  // of a Letter, other: its ranges
  };

 private:
  std::vector<State> states_;
  std::vector<Ranges> ranges_;
  std::uint32_t first_ = 0;
};

/// The letter of UTF-8 at `at`, which moves on.
char32_t next_letter(std::string_view word, std::size_t& at);

}  // namespace kiln::onnx
