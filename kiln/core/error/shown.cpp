#include "kiln/core/error/shown.hpp"

#include <algorithm>

namespace kiln {
namespace {

constexpr std::size_t kMost = 80, kEnd = 20;

/// The number of bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

/// Whether it is a control character: C0, delete, or C1 (0xc2 and a byte below 0xa0).
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

}  // namespace

std::string escaped(std::string_view text, bool keep_lines) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    if (length && (!is_control(character) || (keep_lines && character[0] == '\n'))) {
      out += character;
      continue;
    }
    for (const char letter : character) {
      const auto byte = static_cast<unsigned char>(letter);
      out += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    }
  }
  return out;
}

std::string shown(std::string_view name) {
  if (name.size() <= kMost) return escaped(name);
  // The name is cut where characters begin.
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80; };
  std::size_t head = kMost - kEnd - 3, tail = name.size() - kEnd;
  while (head > 0 && is_inside(head)) --head;
  while (tail < name.size() && is_inside(tail)) ++tail;
  return escaped(name.substr(0, head)) + "..." + escaped(name.substr(tail));
}

}  // namespace kiln
