#include "kiln/data/text/split.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kiln/data/text/normal.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln {
namespace {

using unicode::decode;
using unicode::Decoded;

enum class Class { Letter, Number, Space, Other };

Class class_of(char32_t point) {
  return unicode::is_letter(point)   ? Class::Letter
         : unicode::is_number(point) ? Class::Number
         : unicode::is_space(point)  ? Class::Space
                                     : Class::Other;
}

bool is_line_end(char32_t point) { return point == '\n' || point == '\r'; }

/// The end of the run of at most `most` code points from `at` on for which `belongs` holds.
template <class Belongs>
std::size_t run_end(std::string_view text, std::size_t at, Belongs belongs, std::size_t most = std::string_view::npos) {
  for (; at < text.size() && most > 0; --most) {
    const Decoded next = decode(text, at);
    if (!belongs(next.point)) break;
    at += next.bytes;
  }
  return at;
}
std::size_t class_end(std::string_view text, std::size_t at, Class kind, std::size_t most = std::string_view::npos) {
  return run_end(text, at, [kind](char32_t point) { return class_of(point) == kind; }, most);
}

/// The length of "'s", "'re" or similar at `at`, including the apostrophe; 0 if there is none.
std::size_t contraction(std::string_view text, std::size_t at, bool any_case) {
  if (text[at] != '\'') return 0;
  for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    const std::string_view here = text.substr(at + 1, ending.size());
    if (std::ranges::equal(here, ending, [&](char a, char b) { return a == b || (any_case && (a | 0x20) == b); }))
      return ending.size() + 1;
  }
  return 0;
}

/// Spaces up to the last one before a word, which belongs to the word; all of them at the end, or a single one.
std::size_t spaces_end(std::string_view text, std::size_t at) {
  const std::size_t end = class_end(text, at, Class::Space);
  if (end == text.size()) return end;
  std::size_t last = at;  // position of the run's last space
  for (std::size_t next = at; next < end; next += decode(text, next).bytes) last = next;
  return last == at ? end : last;
}

/// Splits the text at the ends that `end_of` gives.
template <class EndOf>
Pieces cut(std::string_view text, EndOf end_of) {
  Pieces pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of(at);
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

}  // namespace

Pieces split_gpt2(std::string_view text) {
  return cut(text, [text](std::size_t at) {
    if (const std::size_t letters = contraction(text, at, false)) return at + letters;
    const std::size_t word = at + (text[at] == ' ');
    if (word < text.size())
      if (const Class kind = class_of(decode(text, word).point); kind != Class::Space)
        return class_end(text, word, kind);
    return spaces_end(text, at);
  });
}

Pieces split_gpt4(std::string_view text, int digits) {
  return cut(text, [text, digits](std::size_t at) {
    if (const std::size_t letters = contraction(text, at, true)) return at + letters;
    const Decoded first = decode(text, at);
    const Class kind = class_of(first.point);
    if (kind == Class::Letter) return class_end(text, at, Class::Letter);
    const std::size_t next = at + first.bytes;
    if (kind != Class::Number && !is_line_end(first.point))
      if (const std::size_t end = class_end(text, next, Class::Letter); end > next) return end;
    if (kind == Class::Number) return class_end(text, at, Class::Number, static_cast<std::size_t>(digits));
    const std::size_t marks = at + (text[at] == ' ');
    if (const std::size_t end = class_end(text, marks, Class::Other); end > marks)
      return run_end(text, end, is_line_end);
    const std::size_t end = class_end(text, at, Class::Space);
    const std::size_t line = text.substr(at, end - at).find_last_of("\r\n");
    return line == std::string_view::npos ? spaces_end(text, at) : at + line + 1;
  });
}

namespace {

/// Runs of one kind, by a function that gives 0 for what is left out; characters of kind `alone` are pieces by
/// themselves.
template <class Kind>
Pieces split_by(std::string_view text, Kind kind_of, int alone = -1) {
  Pieces pieces;
  int before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode(text, at);
    const int kind = kind_of(next.point);
    if (kind != 0 && kind == before && kind != alone)
      pieces.back() = {pieces.back().data(), pieces.back().size() + next.bytes};
    else if (kind != 0) pieces.push_back(text.substr(at, next.bytes));
    before = kind;
    at += next.bytes;
  }
  return pieces;
}

}  // namespace

bool is_bert_punctuation(char32_t point) {
  return (point > ' ' && point < 0x7f && !unicode::is_letter(point) && !unicode::is_number(point)) ||
         unicode::is_punctuation(point);
}
Pieces split_bert(std::string_view text) {
  return split_by(text, [](char32_t p) { return unicode::is_space(p) ? 0 : is_bert_punctuation(p) ? 2 : 1; }, 2);
}
Pieces split_words(std::string_view text) {
  return split_by(text, [](char32_t p) { return unicode::is_space(p) ? 0 : unicode::is_word(p) ? 1 : 2; });
}
Pieces split_spaces(std::string_view text) {
  return split_by(text, [](char32_t p) { return unicode::is_space(p) ? 0 : 1; });
}

namespace {

/// Bytes that are visible in Latin 1 are themselves; the others are code points from 256 on, in order.
constexpr std::array<char32_t, 256> byte_letters() {
  std::array<char32_t, 256> letters{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool seen = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    letters[byte] = seen ? byte : next++;
  }
  return letters;
}
constexpr auto kByteLetters = byte_letters();

}  // namespace

std::string bytes_to_letters(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) unicode::append(letters, kByteLetters[static_cast<unsigned char>(byte)]);
  return letters;
}

std::string letters_to_bytes(std::string_view letters) {
  static constexpr auto kBytes = [] {
    std::array<std::int16_t, 512> bytes{};
    bytes.fill(-1);
    for (std::size_t byte = 0; byte < 256; ++byte) bytes[kByteLetters[byte]] = static_cast<std::int16_t>(byte);
    return bytes;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < letters.size();) {
    const Decoded next = decode(letters, at);
    if (next.point >= kBytes.size() || kBytes[next.point] < 0) return std::string(letters);
    bytes += static_cast<char>(kBytes[next.point]);
    at += next.bytes;
  }
  return bytes;
}

std::string lowercased(std::string_view text) {
  constexpr char32_t kDotted = 0x130;  // the only letter whose lower case is two code points
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode(text, at);
    if (point == kDotted) out += "i\xcc\x87";
    else unicode::append(out, unicode::lower(point));
    at += bytes;
  }
  return out;
}

std::string bert_cleaned(std::string_view text, const BertCleaning& how) {
  std::string out;
  bool plain = true;  // only ASCII so far
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode(text, at);
    at += bytes;
    const bool blank = point == '\t' || point == '\n' || point == '\r';
    if (how.clean && (point == 0 || point == unicode::kReplacement || (!blank && unicode::is_control(point)))) continue;
    plain &= point < 0x80;
    const bool alone = how.chinese && unicode::is_chinese(point);
    if (alone) out += ' ';
    unicode::append(out, how.clean && unicode::is_space(point) ? U' ' : point);
    if (alone) out += ' ';
  }
  if (how.strip_accents && !plain) {
    const std::string apart = unicode::normalized(out, unicode::NormalForm::D);
    out.clear();
    for (std::size_t at = 0; at < apart.size();) {
      const auto [point, bytes] = decode(apart, at);
      if (!unicode::is_mark(point)) unicode::append(out, point);
      at += bytes;
    }
  }
  return how.lowercase ? lowercased(out) : out;
}

}  // namespace kiln
