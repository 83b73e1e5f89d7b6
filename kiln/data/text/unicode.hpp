// What tokenizers ask of Unicode: code points of UTF-8, their classes and small letters. The classes are those of Hugging Face's
// library, whose stages have databases of several versions (tools/unicode_tables.py).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::unicode {

inline constexpr char32_t kReplacement = 0xfffd;  // stands for bytes that are no UTF-8

struct Decoded {
  char32_t point;
  std::size_t bytes;  // that it takes in the text, at least 1
};
/// The code point at byte `at` of a text that goes on there; a byte that is no UTF-8 is a kReplacement.
Decoded decode(std::string_view text, std::size_t at);
void append(std::string& text, char32_t point);
/// The text with kReplacement for what is no UTF-8.
std::string repaired(std::string_view text);

bool is_letter(char32_t point);
bool is_number(char32_t point);   // \p{N} of a regular expression
bool is_numeric(char32_t point);  // the same by a newer database
bool is_space(char32_t point);
bool is_punctuation(char32_t point);
bool is_word(char32_t point);     // what \w of a regular expression means
bool is_mark(char32_t point);     // is drawn over the letter before it
bool is_control(char32_t point);  // controls and formats
bool is_chinese(char32_t point);  // of the blocks of Chinese characters, as BERT's tokenizer counts them

/// By itself: none depends on its neighbours.
char32_t lower(char32_t point);

}  // namespace kiln::unicode
