// What a tokenizer does to the tokens of a text: cuts what is too long, puts tokens around it, fills up what is too short.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

enum class Side { Left, Right };

/// `truncation`: no more tokens than that, those around a text among them.
struct Truncation {
  std::int64_t most;
  Side side;
};
/// `padding` with tokens of one id.
struct Padding {
  std::int64_t least, multiple;  // 0: as many as there are; any number
  Side side;
  std::int64_t id;
};

struct Frame {
  std::vector<std::int64_t> before, behind;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  /// Of a whole tokenizer.json. Throws DataError for what is not known here.
  static Frame read(const View& root);
  /// `special`: with the tokens around it.
  std::vector<std::int64_t> around(std::vector<std::int64_t> ids, bool special) const;
};

}  // namespace kiln::tokens
