// Regular expressions, for names that somebody chooses: in time proportional to the text times the pattern, whatever the
// pattern, and without exceptions of its own, so that a pattern may come out of a file.
//
// Letters stand for themselves; . [a-z] [^.] \d \w \s \D \W \S and \. for a letter of a kind; ( ) (?: ) | group;
// * + ? {2} {2,} {2,5} repeat, as often as they can, or with a ? behind them as seldom; ^ and $ are the text's ends.
// Bytes are letters: there are no classes of Unicode, and no references to what was matched before.
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
  /// Throws ArgumentError, which says where the pattern is wrong.
  explicit Regex(std::string_view pattern);
  /// A pattern of dotted paths: * stands for letters other than dots, ? for one such letter, ** for any number of names,
  /// [abc] and {weight,bias} for one of these. It describes what it names, and all that lies below: "blocks.*" matches
  /// "blocks.0.weight". Throws ArgumentError.
  static Regex glob(std::string_view glob);

  /// Does the pattern describe the whole text?
  bool matches(std::string_view text) const { return match(text).has_value(); }
  /// What it is made of: all of it, then each group, empty where it took no part. None where the text is another.
  std::optional<std::vector<std::string_view>> match(std::string_view text) const;
  /// The first place that the pattern describes, and its groups.
  std::optional<std::vector<std::string_view>> search(std::string_view text) const;
  /// Each such place replaced, where $1 to $9 are the groups, $0 the place, $$ a dollar.
  std::string replace(std::string_view text, std::string_view with) const;

  const std::string& pattern() const { return pattern_; }

  // A program for all threads of Thompson's machine at once. Jumps are relative.
  struct Step {
    enum class Kind : std::uint8_t { Letter, Split, Jump, Save, Begin, End } kind;
    std::int32_t to = 0;  // Split, Jump: where to go; Split: rather than to `other`. Save: the place's number
    std::int32_t other = 0;
    std::int32_t letters = 0;  // Letter: an index into the sets
  };
  using Steps = std::vector<Step>;
  using Letters = std::bitset<256>;

 private:
  std::optional<std::vector<std::string_view>> run(std::string_view text, std::size_t from, bool whole) const;

  std::string pattern_;
  Steps steps_;
  std::vector<Letters> sets_;
  std::size_t groups_ = 1;
};

}  // namespace kiln
