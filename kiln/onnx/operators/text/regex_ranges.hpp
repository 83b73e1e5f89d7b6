// Classes of letters.
#pragma once
#include "kiln/onnx/operators/text/regex.hpp"

namespace kiln::onnx {

inline constexpr char32_t kLastLetter = 0x10ffff;

/// In order, without overlaps.
Regex::Ranges united(Regex::Ranges ranges);
/// All other letters.
Regex::Ranges without(const Regex::Ranges& ranges);
/// With the other case of letters of ASCII.
Regex::Ranges in_either_case(Regex::Ranges ranges);

/// "alpha" of [[:alpha:]]; nothing for other names.
std::optional<Regex::Ranges> named_class(std::string_view name);
/// Of \d, \s and \w, or their complements \D, \S, \W; nothing for other letters.
std::optional<Regex::Ranges> perl_class(char name);

}  // namespace kiln::onnx
