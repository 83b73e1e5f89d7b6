// Regular expressions of a tokenizer.json, which are Oniguruma's in Ruby's syntax. PCRE2 looks for them, since they look ahead and
// know Unicode's classes; what cannot be said in its words is refused by name.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

/// A part of a text that a pattern matches, or one between those that it does not; either may be empty.
struct Part {
  std::string_view text;
  bool matches;
};

class Pattern {
 public:
  /// A stage's `pattern`: {"String": "##"}, which is looked for as it stands, or {"Regex": "\\d+"}. Those of GPT-2, GPT-4, Llama 3
  /// and Qwen, and runs of spaces, have functions of their own, which are faster and need no library. Throws DataError where
  /// the expression is wrong, or says what is not known here, or where there is no PCRE2.
  static Pattern read(const View& stage);

  /// The whole text in its parts, from the front. A match takes so many steps at most that a text takes time in proportion to
  /// its length. Throws DataError beyond that.
  std::vector<Part> parts(std::string_view text) const;

  struct Engine;

 private:
  std::string plain_;
  std::shared_ptr<const Engine> engine_;                    // none: `plain_` is looked for
  std::vector<Part> (*known_)(std::string_view) = nullptr;  // of an expression that Kiln knows by itself
};

/// An expression in PCRE2's words that means the same. Throws DataError for what is not known here.
std::string to_pcre2(const View& regex);

}  // namespace kiln::tokens
