// The model of a tokenizer.json, which splits words into tokens.
#pragma once
#include <variant>

#include "kiln/data/text/json_view.hpp"
#include "kiln/data/text/unigram.hpp"
#include "kiln/data/text/vocabulary.hpp"

namespace kiln::tokens {

using Model = std::variant<BytePairs, WordPieces, WordLevel, Unigram>;

/// Throws DataError for a model that is unsupported or damaged.
Model read_model(const View& json);

}  // namespace kiln::tokens
