// SentencePiece's table of replacements, as tokenizer.json holds it: base64 of the bytes of a double-array tree of UTF-8
// sequences (Aoe, "An efficient digital search algorithm by using a double-array structure", 1989), and of what they become.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/text/growth.hpp"
#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

class Charsmap {
 public:
  /// Throws DataError where the text holds no such table.
  explicit Charsmap(const View& base64);

  /// A letter with its marks at a time, where these are fewer than six bytes, else a code point: what the table has of its
  /// shortest beginning takes its place, as the reference library does it.
  std::string rewritten(std::string_view text, const Growth& growth) const;

 private:
  /// Appends what stands for the piece; false where the table has no beginning of it.
  bool replace(std::string_view piece, std::string& out) const;

  std::vector<std::uint32_t> tree_;
  std::string replacements_;  // with a zero byte behind each
};

}  // namespace kiln::tokens
