// Regular expressions of a tokenizer.json, which have Oniguruma's Ruby syntax. PCRE2 matches them, since they have
// lookahead and Unicode classes; constructs that cannot be translated to it are rejected by name.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

/// A part of a text that a pattern matches, or one between two matches; either may be empty.
struct PatternPart {
  std::string_view text;
  bool matches;
};

class Pattern {
 public:
  /// A stage's `pattern`: {"String": "##"}, a literal, or {"Regex": "\\d+"}. The expressions of GPT-2, GPT-4, Llama 3
  /// and Qwen, and runs of spaces, have functions of their own, which are faster and need no library. Throws DataError
  /// if the expression is wrong, or not supported, or if there is no PCRE2.
  static Pattern read(const View& stage);

  /// Splits the whole text into its parts, in order. The steps of matches are limited so that the time is proportional
  /// to the text's length. Throws DataError beyond the limit.
  std::vector<PatternPart> parts(std::string_view text) const;

  struct Engine;

 private:
  std::string plain_;
  std::shared_ptr<const Engine> engine_;                           // null: `plain_` is a literal
  std::vector<PatternPart> (*known_)(std::string_view) = nullptr;  // for an expression that Kiln implements itself
};

/// An equivalent expression for PCRE2. Throws DataError for unsupported constructs.
std::string to_pcre2(const View& regex);

}  // namespace kiln::tokens
