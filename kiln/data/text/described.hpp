// Pieces of a tokenizer.json, for tokenizers that come from elsewhere.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/core/config/json.hpp"

namespace kiln::tokens {

/// GPT-2's stage of letters for bytes, which stands before and behind its model.
Json byte_level();
/// A special token.
Json added(const std::string& text, std::int64_t id);
Json byte_pairs(Json::Object vocabulary, Json::List merges);
Json described(Json model, Json normalizer, Json pre_tokenizer, Json post_processor, Json decoder, Json::List added);

}  // namespace kiln::tokens
