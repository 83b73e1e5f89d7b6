// The stages of a tokenizer before and behind its model, as tokenizer.json names them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/data/text/growth.hpp"
#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

/// A text as another text.
using Rewrite = std::function<std::string(std::string, const Growth&)>;

/// A part of a text, and whether it stands at the text's very beginning.
struct Piece {
  std::string text;
  bool first = false;
};
/// Pieces of a text as smaller pieces.
using Split = std::function<std::vector<Piece>(std::vector<Piece>, const Growth&)>;

/// What a token stands for; `whole` of one that was added, whose letters are no spelling of bytes.
struct Spelling {
  std::string text;
  bool whole = false;
};
/// Tokens as the pieces of a text.
using Join = std::function<std::vector<Spelling>(std::vector<Spelling>, const Growth&)>;

/// Each throws DataError for what is not known here; null stands for a stage that does nothing.
Rewrite read_normalizer(const View& json);
Split read_pre_tokenizer(const View& json);
Join read_decoder(const View& json);

}  // namespace kiln::tokens
