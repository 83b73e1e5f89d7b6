#include "kiln/data/text/unicode.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace kiln::unicode {
namespace {

struct Run {
  char32_t first, last;
};
struct Move {
  char32_t first, last;
  std::int32_t distance;
  char32_t step;
};
#include "kiln/data/text/unicode_tables.inc"

/// The entry whose range contains the code point, or null.
template <class Entry>
const Entry* find(std::span<const Entry> table, char32_t point) {
  const auto behind = std::ranges::upper_bound(table, point, {}, &Entry::first);
  if (behind == table.begin()) return nullptr;
  const Entry& entry = *std::prev(behind);
  return point <= entry.last ? &entry : nullptr;
}

char32_t moved(std::span<const Move> table, char32_t point) {
  const Move* const move = find(table, point);
  if (!move || (point - move->first) % move->step != 0) return point;
  return static_cast<char32_t>(static_cast<std::int32_t>(point) + move->distance);
}

}  // namespace

Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return {kReplacement, 1};
  char32_t point = first & (0xffu >> (count + 1));
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {kReplacement, 1};
    point = point << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[count] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {kReplacement, 1};
  return {point, count};
}

void append(std::string& text, char32_t point) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0 | point >> 6), tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0 | point >> 12), tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0);
  }
}

std::string repaired(std::string_view text) {
  std::string sound;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode(text, at);
    append(sound, point);
    at += bytes;
  }
  return sound;
}

bool is_letter(char32_t point) { return find<Run>(kLetters, point) != nullptr; }
bool is_number(char32_t point) { return find<Run>(kNumbers, point) != nullptr; }
bool is_numeric(char32_t point) { return find<Run>(kDigits, point) != nullptr; }
bool is_punctuation(char32_t point) { return find<Run>(kPunctuation, point) != nullptr; }
bool is_word(char32_t point) { return find<Run>(kWord, point) != nullptr; }
bool is_mark(char32_t point) { return find<Run>(kMarks, point) != nullptr; }
bool is_control(char32_t point) { return find<Run>(kControls, point) != nullptr; }

bool is_space(char32_t point) {
  return (point >= 9 && point <= 13) || point == ' ' || point == 0x85 || point == 0xa0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 || point == 0x202f ||
         point == 0x205f || point == 0x3000;
}

bool is_chinese(char32_t point) {
  constexpr Run kBlocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                             {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return find<Run>(kBlocks, point) != nullptr;
}

char32_t lower(char32_t point) { return moved(kLower, point); }

}  // namespace kiln::unicode
