// Pieces of a tokenizer.json, for tokenizers of other origins.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/json.hpp"

namespace kiln::tokens {

/// GPT-2's byte-level stage, which is used before and after its model.
Json byte_level();
/// An added special token.
Json added(const std::string& text, std::int64_t id);
/// Tokens with their positions as ids, and the first of them as special tokens. Throws ArgumentError, which names
/// `who`, unless the special tokens are distinct.
Json::Object numbered(const std::vector<std::string>& tokens);
Json::List special(std::string_view who, const std::vector<std::string>& tokens);
Json byte_pairs(Json::Object vocabulary, Json::List merges);
Json described(Json model, Json normalizer, Json pre_tokenizer, Json post_processor, Json decoder, Json::List added);

}  // namespace kiln::tokens
