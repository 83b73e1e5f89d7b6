// Tokens that are found in a text before the model sees it: <|endoftext|>, [MASK], and words that a user added.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/data/text/json_view.hpp"
#include "kiln/data/text/stages.hpp"

namespace kiln::tokens {

/// An element of the list `added_tokens`.
struct AddedToken {
  std::string text;
  std::int64_t id;
  bool special, single_word, strip_left, strip_right;
  bool normalized;  // matched in the normalized text, and itself normalized for that
};
std::vector<AddedToken> read_added(const View& json);

/// The added tokens that are, or are not, matched in the normalized text.
class AddedTokens {
 public:
  /// Throws DataError for a token that the normalizer reduces to nothing.
  AddedTokens(const View& json, const std::vector<AddedToken>& tokens, bool normalized, const Rewrite& normalize);

  /// Splits the text into parts without such tokens, and tokens, of which the one that begins first counts, and of
  /// those the longest. The time is proportional to the text's length times that of the longest token in it.
  void each(std::string_view text, const std::function<void(std::string_view)>& part,
            const std::function<void(std::int64_t)>& token) const;

 private:
  static constexpr std::int64_t kNone = -1;
  struct FoundToken {
    const AddedToken* token;
    std::size_t begin, end;
  };
  /// The first token from a byte on; without a token if there is none.
  FoundToken next(std::string_view text, std::size_t from) const;

  std::vector<AddedToken> tokens_;
  // A trie of bytes: the child of a node by a byte, and the token that ends at a node.
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::vector<std::int64_t> ends_ = {kNone};
  bool begins_[256] = {};
};

}  // namespace kiln::tokens
