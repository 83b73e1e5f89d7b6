// The stages of a tokenizer before and behind its model, as tokenizer.json names them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/data/text/json_view.hpp"

namespace kiln::tokens {

/// A text as another text.
using Rewrite = std::function<std::string(std::string)>;
/// Pieces of a text as smaller pieces; whether the first of them begins the text.
using Split = std::function<std::vector<std::string>(std::vector<std::string>, bool first)>;
/// Tokens as the pieces of a text.
using Join = std::function<std::vector<std::string>(std::vector<std::string>)>;

/// Each throws DataError for what is not known here; null stands for a stage that does nothing.
Rewrite read_normalizer(const View& json);
Split read_pre_tokenizer(const View& json);
Join read_decoder(const View& json);

}  // namespace kiln::tokens
