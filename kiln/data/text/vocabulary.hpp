// Splits words into tokens: byte pairs, word pieces, whole words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {

/// A hash of strings and string views, so that a map of strings is searched without a copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using TokenIds = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;

/// "<0xE2>", the token of a byte.
std::string byte_token(char byte);

/// Byte-pair encoding: starts with the characters of a word, and repeatedly merges the neighbours whose merge was
/// learned first (Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units", 2016).
class BytePairs {
 public:
  TokenIds ids;
  std::optional<std::int64_t> unknown;  // for characters that are no tokens; without it they are left out
  bool fuse_unknown = false;            // one token for a run of them
  bool byte_fallback = false;           // encodes such characters as bytes "<0xE2>", if those are tokens
  bool whole_words = false;             // a word that is a token is not split
  std::string prefix, suffix;           // prefix of all characters except a word's first, and suffix of its last

  /// Adds the merge of tokens a and b into `joined`, after all earlier merges.
  void add_merge(std::int64_t a, std::int64_t b, std::int64_t joined);
  /// Appends the word's tokens. The time is O(n log n).
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

/// Takes the longest token with which a word begins, then of the rest, whose tokens have a prefix, and so on (Wu et
/// al., "Google's neural machine translation system", 2016). A word that cannot be split like this, or is too long, is
/// one unknown token.
class WordPieces {
 public:
  TokenIds ids;
  std::int64_t unknown = 0;
  std::size_t longest = 100;  // code points of a word

  WordPieces(const TokenIds& vocabulary, std::string_view prefix);
  /// Appends the word's tokens. The time is proportional to the word's length times that of the longest token.
  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;

 private:
  void add(std::uint32_t root, std::string_view token, std::int64_t id);

  static constexpr std::int64_t kNone = -1;
  static constexpr std::uint32_t kFirst = 0,
                                 kLater = 1;  // the roots of tokens that begin a word, and of those that do not
  // Tries of bytes: the child of a node by a byte, and the token that ends at a node.
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::vector<std::int64_t> ends_ = {kNone, kNone};
};

/// Each word is a token or unknown; without an unknown token it is left out.
struct WordLevel {
  TokenIds ids;
  std::optional<std::int64_t> unknown;

  void encode(std::string_view word, std::vector<std::int64_t>& tokens) const;
};

}  // namespace kiln
