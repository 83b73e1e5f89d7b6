// Unicode's normal forms (Unicode Standard Annex 15): a unique form of texts that can be encoded in several ways.
#pragma once
#include <string>
#include <string_view>

namespace kiln::unicode {

/// D decomposes letters with marks, C composes them; K also replaces compatibility characters: ﬁ, ²,Ａ.
enum class NormalForm { C, D, KC, KD };

/// Bytes that are not UTF-8 become U+FFFD.
std::string normalized(std::string_view text, NormalForm form);

/// Is it a combining mark (general category M), which belongs to the letter before it? is_combining() is as in the
/// library that strips accents, whose database is older.
bool is_combining(char32_t point);
bool is_extending(char32_t point);

}  // namespace kiln::unicode
