// Patterns of RegexFullMatch, which are in the syntax of RE2 (github.com/google/re2/wiki/Syntax).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/onnx/datum.hpp"

namespace kiln::onnx {

/// 1 for each word (UTF-8) that a pattern matches as a whole, 0 for others. The time grows with the length of the words
/// times that of the pattern, and the memory has a bound, whatever the pattern is. Throws ArgumentError, which begins with
/// `op`, where the pattern is not valid, is too large, or this Kiln was built without RE2.
std::vector<std::uint8_t> full_matches(std::string_view op, const std::string& pattern, const Strings& words);

}  // namespace kiln::onnx
