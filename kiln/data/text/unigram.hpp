// Splits a word into the tokens whose probabilities have the largest product (Kudo, "Subword regularization: improving
// neural network translation models with multiple subword candidates", 2018): SentencePiece's unigram model.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/data/text/vocabulary.hpp"

namespace kiln {

class Unigram {
 public:
  TokenIds ids;
  std::optional<std::int64_t> unknown;  // for characters that are in no token
  bool byte_fallback = false;           // encodes such characters as bytes "<0xE2>", if those are tokens

  /// Adds the token of the next id, with the logarithm of its probability.
  void add(const std::string& token, double score);

  /// Appends the word's tokens; consecutive characters that are in no token become one unknown token. The time is
  /// proportional to the word's length times that of the longest token in it. Throws DataError for such a character if
  /// there is no unknown token.
  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;

 private:
  void append_unknown(std::string_view letters, std::vector<std::int64_t>& tokens) const;

  static constexpr std::int64_t kNone = -1;
  // A trie of bytes: the child of a node by a byte, and the token that ends at a node.
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::vector<std::int64_t> ends_ = {kNone};
  std::vector<double> scores_;
  double least_ = 0;  // the least score
};

}  // namespace kiln
