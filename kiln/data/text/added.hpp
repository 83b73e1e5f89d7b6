// Tokens that are looked for in a text before its model sees it: <|endoftext|>, [MASK], and words that a user added.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/data/text/json_view.hpp"
#include "kiln/data/text/stages.hpp"

namespace kiln::tokens {

/// A list's element of `added_tokens`.
struct AddedToken {
  std::string text;
  std::int64_t id;
  bool special, single_word, strip_left, strip_right;
  bool normalized;  // looked for in the text as the normalizer leaves it, and is itself normalised for that
};
std::vector<AddedToken> read_added(const View& json);

/// Those of them that are, or are not, looked for in the normalised text.
class AddedTokens {
 public:
  /// Throws DataError for a token that the normalizer leaves nothing of.
  AddedTokens(const View& json, const std::vector<AddedToken>& tokens, bool normalized, const Rewrite& normalize);

  /// The text from the front: parts without such a token, and tokens, of which the longest that begins earliest counts. Takes
  /// time in proportion to the text's length times that of the longest token in it.
  void each(std::string_view text, const std::function<void(std::string_view)>& part,
            const std::function<void(std::int64_t)>& token) const;

 private:
  static constexpr std::int64_t kNone = -1;
  struct Found {
    const AddedToken* token;
    std::size_t begin, end;
  };
  /// The first of them from a byte on; without a token where there is none.
  Found next(std::string_view text, std::size_t from) const;

  std::vector<AddedToken> tokens_;
  // As a tree of bytes: the node behind a node and a byte, and the token that ends at a node.
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::vector<std::int64_t> ends_ = {kNone};
  bool begins_[256] = {};
};

}  // namespace kiln::tokens
