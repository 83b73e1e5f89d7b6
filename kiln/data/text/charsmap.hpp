// SentencePiece's table of replacements, as in tokenizer.json: base64 of a double-array trie of UTF-8 sequences (Aoe,
// "An efficient digital search algorithm by using a double-array structure", 1989), and of their replacements.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/text/json_view.hpp"
#include "kiln/data/text/output_limit.hpp"

namespace kiln::tokens {

class Charsmap {
 public:
  /// Throws DataError if the text is no such table.
  explicit Charsmap(const View& base64);

  /// Processes characters with their combining marks if these are less than six bytes, else code points: each is
  /// replaced by the table's entry for its shortest prefix, as in the reference library.
  std::string rewritten(std::string_view text, const OutputLimit& limit) const;

 private:
  /// Appends the replacement of the piece; returns false if the table has none of its prefixes.
  bool replace(std::string_view piece, std::string& out) const;

  std::vector<std::uint32_t> tree_;
  std::string replacements_;  // each followed by a zero byte
};

}  // namespace kiln::tokens
