// A word as the tokens whose probabilities have the largest product (Kudo, "Subword regularization: improving neural network
// translation models with multiple subword candidates", 2018): what SentencePiece calls a unigram model.
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
  std::optional<std::int64_t> unknown;  // for letters that no token has
  bool byte_fallback = false;           // such letters' bytes as "<0xE2>", if those are tokens

  /// The next id's token, and the logarithm of its probability.
  void add(const std::string& token, double score);

  /// Appends the word's tokens; letters in a row that no token has are one unknown. Takes time in proportion to the word's length
  /// times that of the longest token in it. Throws DataError for such a letter where there is no unknown.
  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;

 private:
  void append_unknown(std::string_view letters, std::vector<std::int64_t>& tokens) const;

  static constexpr std::int64_t kNone = -1;
  // All tokens as a tree of bytes: the node behind a node and a byte, and the token that ends at a node.
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::vector<std::int64_t> ends_ = {kNone};
  std::vector<double> scores_;
  double least_ = 0;  // of the scores
};

}  // namespace kiln
