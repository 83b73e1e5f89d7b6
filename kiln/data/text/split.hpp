// How tokenizers cut texts into words, before words become tokens.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

using Pieces = std::vector<std::string_view>;

/// GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
Pieces split_gpt2(std::string_view text);
/// GPT-4's and Llama 3's, with numbers of at most so many digits in a piece (3; Qwen: 1):
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
Pieces split_gpt4(std::string_view text, int digits);
/// What lies between spaces, each punctuation mark by itself, as BERT does.
Pieces split_bert(std::string_view text);
/// \w+|[^\w\s]+, where \w are letters, marks, digits and connectors as "_".
Pieces split_words(std::string_view text);
/// What lies between spaces.
Pieces split_spaces(std::string_view text);

/// A sign of ASCII that is no letter or digit, or what Unicode calls punctuation.
bool is_bert_punctuation(char32_t point);

/// Each byte as a letter that can be seen, by GPT-2's table; and back, where a text with another letter stays as it is.
std::string bytes_to_letters(std::string_view bytes);
std::string letters_to_bytes(std::string_view letters);

struct BertCleaning {
  bool clean = true;          // controls go, spaces of all kinds become " "
  bool chinese = true;        // Chinese characters stand alone
  bool strip_accents = true;  // letters are taken apart, and go without what is drawn over them
  bool lowercase = true;
};
/// The text as BERT's tokenizer wants it.
std::string bert_cleaned(std::string_view text, const BertCleaning& how);
std::string lowercased(std::string_view text);

}  // namespace kiln
