// How tokenizers split texts into words, before these become tokens.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

using Pieces = std::vector<std::string_view>;

/// GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
Pieces split_gpt2(std::string_view text);
/// The pattern of GPT-4 and Llama 3, with at most `digits` digits per piece (3; Qwen: 1):
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
Pieces split_gpt4(std::string_view text, int digits);
/// Splits at spaces, with each punctuation mark as a piece, as BERT does.
Pieces split_bert(std::string_view text);
/// \w+|[^\w\s]+, where \w are letters, marks, digits and connectors such as "_".
Pieces split_words(std::string_view text);
/// Splits at spaces.
Pieces split_spaces(std::string_view text);

/// An ASCII character that is visible and no letter or digit, or what Unicode calls punctuation.
bool is_bert_punctuation(char32_t point);

/// Represents each byte by a visible character, by GPT-2's table; and back, where a text with another character is
/// unchanged.
std::string bytes_to_letters(std::string_view bytes);
std::string letters_to_bytes(std::string_view letters);

struct BertCleaning {
  bool clean = true;          // removes control characters, and turns all kinds of spaces into " "
  bool chinese = true;        // puts spaces around Chinese characters
  bool strip_accents = true;  // decomposes letters, and removes their accents
  bool lowercase = true;
};
/// Cleans a text as BERT's tokenizer does.
std::string bert_cleaned(std::string_view text, const BertCleaning& how);
std::string lowercased(std::string_view text);

}  // namespace kiln
