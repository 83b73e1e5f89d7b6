// Character classes of expressions: the contents of PCRE2's brackets for what Oniguruma means.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kiln::tokens {

/// The characters of \s, of \h (hexadecimal digits), and any character.
inline constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
inline constexpr std::string_view kHexDigits = "0-9A-Fa-f", kAnything = R"([\x{0}-\x{10ffff}])";

/// A literal character.
std::string literal(char32_t point);
/// The meaning of \w.
std::string word_letters();
/// A general category of Unicode by its short name ("Lu"; case is ignored), including characters that are newer than
/// the oldest PCRE2; none for another name. Categories that include unassigned characters are not supported, since
/// databases differ in them.
std::optional<std::string> category_letters(std::string_view name);
/// A category by its longer name, or one of POSIX's classes, in lower case only; none for another name.
std::optional<std::string> named_letters(std::string_view name);

}  // namespace kiln::tokens
