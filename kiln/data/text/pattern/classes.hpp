// Classes of letters as expressions name them: what stands between PCRE2's brackets for what Oniguruma means.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kiln::tokens {

/// What counts as a space (\s), as a hexadecimal digit (\h), and as any letter at all.
inline constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
inline constexpr std::string_view kHexDigits = "0-9A-Fa-f", kAnything = R"([\x{0}-\x{10ffff}])";

/// A letter that stands for itself.
std::string literal(char32_t point);
/// What \w means.
std::string word_letters();
/// Of one of Unicode's general categories by its short name ("Lu"; case does not count), with letters that are newer than the oldest
/// PCRE2; nothing for another name. Those that hold what is not assigned are none: databases differ in it.
std::optional<std::string> category_letters(std::string_view name);
/// Of a category by its longer name, or of one of POSIX's classes, in small letters alone; nothing for another name.
std::optional<std::string> named_letters(std::string_view name);

}  // namespace kiln::tokens
