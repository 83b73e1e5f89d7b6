// The Unicode functions that tokenizers need: code points of UTF-8, their classes and lower case. The classes are those
// of Hugging Face's library, whose stages use databases of several versions (tools/unicode_tables.py).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::unicode {

inline constexpr char32_t kReplacement = 0xfffd;  // replaces bytes that are not UTF-8

struct Decoded {
  char32_t point;
  std::size_t bytes;  // size in the text, at least 1
};
/// The code point at byte `at`, which must be before the end; a byte that is not UTF-8 gives kReplacement.
Decoded decode(std::string_view text, std::size_t at);
void append(std::string& text, char32_t point);
/// The text with kReplacement for bytes that are not UTF-8.
std::string repaired(std::string_view text);

bool is_letter(char32_t point);
bool is_number(char32_t point);   // \p{N} of a regular expression
bool is_numeric(char32_t point);  // is_number() by a newer database
bool is_space(char32_t point);
bool is_punctuation(char32_t point);
bool is_word(char32_t point);     // \w of a regular expression
bool is_mark(char32_t point);     // a mark drawn over the letter before it
bool is_control(char32_t point);  // controls and formats
bool is_chinese(char32_t point);  // in the blocks of Chinese characters that BERT's tokenizer uses

/// Lower case of a single code point, independent of its neighbours.
char32_t lower(char32_t point);

}  // namespace kiln::unicode
