// Nested configurations as a list of names and words.
#pragma once
#include <map>
#include <string>

#include "kiln/core/config/json.hpp"

namespace kiln {

/// {"optimizer.beta1": "0.9", ...}: keys of nested objects are joined by dots, and values are as JSON writes them,
/// words without quotes. Null has none.
std::map<std::string, std::string> flattened(const Json& json);
/// Writes them as a JSON object of words.
std::string json_of(const std::map<std::string, std::string>& words);

}  // namespace kiln
