// The last stage of a tokenizer: truncates tokens, adds special tokens around them, and pads them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

enum class Side { Left, Right };

/// `truncation`: the most tokens, including those around a text.
struct Truncation {
  std::int64_t most;
  Side side;
};
/// `padding` with tokens of one id.
struct Padding {
  std::int64_t least, multiple;  // 0: no minimum; no multiple
  Side side;
  std::int64_t id;
};

struct PostProcessor {
  std::vector<std::int64_t> before, behind;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  /// Reads a whole tokenizer.json. Throws DataError for unsupported options.
  static PostProcessor read(const View& root);
  /// `special`: adds the tokens around a text.
  std::vector<std::int64_t> around(std::vector<std::int64_t> ids, bool special) const;
};

}  // namespace kiln::tokens
