// Regular expressions over names: matching takes time proportional to the text times the pattern, for every pattern,
// and throws no exceptions of its own, so that a pattern may come from an untrusted file.
//
// Letters stand for themselves; . [a-z] [^.] \d \w \s \D \W \S and \. match one letter of a kind; ( ) (?: ) | group;
// * + ? {2} {2,} {2,5} repeat as often as possible, or with a ? behind them as rarely as possible; ^ and $ are the ends
// of the text. A letter is a byte: there are no Unicode classes and no backreferences.
#pragma once
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

class Regex {
 public:
  /// Throws ArgumentError, which shows where the pattern is wrong.
  explicit Regex(std::string_view pattern);
  /// Returns a pattern over dotted paths: * matches letters other than dots, ? one such letter, ** any number of names,
  /// [abc] and {weight,bias} one of these. The pattern matches a path and all paths below it: "blocks.*" matches
  /// "blocks.0.weight". Throws ArgumentError.
  static Regex glob(std::string_view glob);

  /// Whether the pattern matches the whole text.
  bool matches(std::string_view text) const { return match(text).has_value(); }
  /// The match of the whole text: all of it, then each group, empty where the group took no part. Empty without a
  /// match.
  std::optional<std::vector<std::string_view>> match(std::string_view text) const;
  /// The first match within the text, and its groups.
  std::optional<std::vector<std::string_view>> search(std::string_view text) const;
  /// The text with each match replaced by `with`, where $1 to $9 are the groups, $0 is the match and $$ is a dollar.
  std::string replace(std::string_view text, std::string_view with) const;

  const std::string& pattern() const { return pattern_; }

  // A program that runs all threads of Thompson's machine at once. Jumps are relative.
  struct Instruction {
    enum class Kind : std::uint8_t { Letter, Split, Jump, Save, Begin, End } kind;
    std::int32_t to = 0;  // Split, Jump: the target; Split prefers it to `other`. Save: the position's number
    std::int32_t other = 0;
    std::int32_t letters = 0;  // Letter: an index into the sets
  };
  using Instructions = std::vector<Instruction>;
  using Letters = std::bitset<256>;

 private:
  std::optional<std::vector<std::string_view>> run(std::string_view text, std::size_t from, bool whole) const;

  std::string pattern_;
  Instructions steps_;
  std::vector<Letters> sets_;
  std::size_t groups_ = 1;
};

}  // namespace kiln
