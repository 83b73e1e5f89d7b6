// Pieces of a tokenizer.json, for tokenizers that come from elsewhere.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/json.hpp"

namespace kiln::tokens {

/// GPT-2's stage of letters for bytes, which stands before and behind its model.
Json byte_level();
/// A special token.
Json added(const std::string& text, std::int64_t id);
/// Tokens by their places, of which the first are special. Throws ArgumentError, in the name of `who` trains, unless each of
/// those is a token of its own.
Json::Object numbered(const std::vector<std::string>& tokens);
Json::List special(std::string_view who, const std::vector<std::string>& tokens);
Json byte_pairs(Json::Object vocabulary, Json::List merges);
Json described(Json model, Json normalizer, Json pre_tokenizer, Json post_processor, Json decoder, Json::List added);

}  // namespace kiln::tokens
