// The stages of a tokenizer before and after its model, as tokenizer.json names them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/data/text/json_view.hpp"
#include "kiln/data/text/output_limit.hpp"

namespace kiln::tokens {

/// Turns a text into another one.
using Rewrite = std::function<std::string(std::string, const OutputLimit&)>;

/// A part of a text, and whether it is the text's beginning.
struct TextPiece {
  std::string text;
  bool first = false;
};
/// Splits pieces of a text into smaller ones.
using Split = std::function<std::vector<TextPiece>(std::vector<TextPiece>, const OutputLimit&)>;

/// The text of a token; `whole` for added tokens, whose characters do not represent bytes.
struct Spelling {
  std::string text;
  bool whole = false;
};
/// Turns tokens into pieces of a text.
using Join = std::function<std::vector<Spelling>(std::vector<Spelling>, const OutputLimit&)>;

/// Each throws DataError for unsupported options; null is a stage that does nothing.
Rewrite read_normalizer(const View& json);
Split read_pre_tokenizer(const View& json);
Join read_decoder(const View& json);

}  // namespace kiln::tokens
