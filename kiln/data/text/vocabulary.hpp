// Words as tokens: byte pairs, word pieces, whole words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {

/// Hashes texts and parts of texts alike, so that a map of texts is asked without a copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using TokenIds = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;

/// "<0xE2>", the token that stands for a byte where no other does.
std::string byte_token(char byte);

/// Byte-pair encoding: the letters of a word, of which the two neighbours that were joined earliest in training become one, as
/// long as there are such (Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units", 2016).
class BytePairs {
 public:
  TokenIds ids;
  std::optional<std::int64_t> unknown;  // for letters that are no tokens; without one they are left out
  bool fuse_unknown = false;            // one for a run of them
  bool byte_fallback = false;           // such a letter's bytes as "<0xE2>", if those are tokens
  bool whole_words = false;             // a word that is a token is not taken apart
  std::string prefix, suffix;           // of all letters but a word's first, and of its last

  /// Joins tokens a and b into `joined`, later than all that were added before.
  void add_merge(std::int64_t a, std::int64_t b, std::int64_t joined);
  /// Appends the word's tokens. Takes time n log n.
  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;

 private:
  struct Merge {
    std::int64_t rank, joined;
  };
  struct PairHash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& pair) const {
      return static_cast<std::size_t>(static_cast<std::uint64_t>(pair.first) * 0x9e3779b97f4a7c15u +
                                      static_cast<std::uint64_t>(pair.second));
    }
  };
  void join(std::vector<std::int64_t>& letters) const;

  std::unordered_map<std::pair<std::int64_t, std::int64_t>, Merge, PairHash> merges_;
};

/// The longest token that a word begins with, then of what is left, whose tokens have a prefix, and so on (Wu et al., "Google's
/// neural machine translation system", 2016). A word that cannot be cut so, or is too long, is one unknown.
class WordPieces {
 public:
  TokenIds ids;
  std::int64_t unknown = 0;
  std::size_t longest = 100;  // code points of a word

  WordPieces(const TokenIds& vocabulary, std::string_view prefix);
  /// Appends the word's tokens. Takes time in proportion to the word's length times that of the longest token.
  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;

 private:
  void add(std::uint32_t root, std::string_view token, std::int64_t id);

  static constexpr std::int64_t kNone = -1;
  static constexpr std::uint32_t kFirst = 0,
                                 kLater = 1;  // the roots of tokens that begin a word, and of those that do not
  // Trees of bytes: the node behind a node and a byte, and the token that ends at a node.
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::vector<std::int64_t> ends_ = {kNone, kNone};
};

/// A word is a token or unknown; without an unknown it is left out.
struct WholeWords {
  TokenIds ids;
  std::optional<std::int64_t> unknown;

  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;
};

}  // namespace kiln
