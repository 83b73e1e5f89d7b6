#include "kiln/data/text/pattern/classes.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/text.hpp"

namespace kiln::tokens {
namespace {

constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

constexpr std::string_view kCategories[] = {"Cc", "Cf", "Co", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",  "Mc", "Me",
                                            "Mn", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Pe", "Pf", "Pi", "Po",
                                            "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"};
/// Characters that Oniguruma knows and the oldest supported PCRE2 does not.
struct Newer {
  char32_t first, last;
  std::string_view category;
};
#include "kiln/data/text/newer_tables.inc"

/// The longer names of categories, and those of POSIX, as ranges of a class.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"letter", "\\p{L}"},
                                                                    {"lowercaseletter", "\\p{Ll}"},
                                                                    {"uppercaseletter", "\\p{Lu}"},
                                                                    {"titlecaseletter", "\\p{Lt}"},
                                                                    {"modifierletter", "\\p{Lm}"},
                                                                    {"otherletter", "\\p{Lo}"},
                                                                    {"mark", "\\p{M}"},
                                                                    {"nonspacingmark", "\\p{Mn}"},
                                                                    {"spacingmark", "\\p{Mc}"},
                                                                    {"number", "\\p{N}"},
                                                                    {"decimalnumber", "\\p{Nd}"},
                                                                    {"letternumber", "\\p{Nl}"},
                                                                    {"othernumber", "\\p{No}"},
                                                                    {"punctuation", "\\p{P}"},
                                                                    {"symbol", "\\p{S}"},
                                                                    {"mathsymbol", "\\p{Sm}"},
                                                                    {"currencysymbol", "\\p{Sc}"},
                                                                    {"separator", "\\p{Z}"},
                                                                    {"spaceseparator", "\\p{Zs}"},
                                                                    {"control", "\\p{Cc}"},
                                                                    {"digit", "\\p{Nd}"},
                                                                    {"space", kSpaces},
                                                                    {"word", kWord},
                                                                    {"xdigit", kHexDigits},
                                                                    {"ascii", "\\x{0}-\\x{7f}"}};

std::string hex(char32_t point) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  do digits.insert(digits.begin(), kDigits[point & 15]);
  while (point >>= 4);
  return text("\\x{", digits, '}');
}
/// The characters of a category, as ranges of a class.
std::string letters_of(std::string_view category) {
  std::string ranges = text("\\p{", category, '}');
  for (const auto& [first, last, own] : kNewer)
    if (own.starts_with(category)) ranges += first == last ? hex(first) : text(hex(first), '-', hex(last));
  return ranges;
}
/// Adds the newer characters of each category that the ranges name.
std::string with_newer(std::string_view ranges) {
  std::string out;
  for (std::size_t at = 0; at < ranges.size();) {
    const std::size_t end = ranges.substr(at).starts_with("\\p{") ? ranges.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += ranges[at++];
      continue;
    }
    out += letters_of(ranges.substr(at + 3, end - at - 3));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string literal(char32_t point) {
  const bool plain = (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') || (point >= 'a' && point <= 'z');
  return plain ? std::string(1, static_cast<char>(point)) : hex(point);
}

std::string word_letters() { return with_newer(kWord); }

std::optional<std::string> category_letters(std::string_view name) {
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  for (const std::string_view category : kCategories)
    if (std::ranges::equal(name, category, same)) return letters_of(category);
  return std::nullopt;
}

std::optional<std::string> named_letters(std::string_view name) {
  for (const auto& [known, ranges] : kNames)
    if (name == known) return with_newer(ranges);
  return std::nullopt;
}

}  // namespace kiln::tokens
