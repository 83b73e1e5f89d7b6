// Unicode's normal forms (Unicode Standard Annex 15): one way to write what may be written in several.
#pragma once
#include <string>
#include <string_view>

namespace kiln::unicode {

/// D takes letters and their marks apart, C puts them together; K also makes plain what only looks different: ﬁ, ²,Ａ.
enum class NormalForm { C, D, KC, KD };

/// What is no UTF-8 becomes U+FFFD.
std::string normalized(std::string_view text, NormalForm form);

/// Of any kind (general category M): it belongs to the letter before it. The first as the library has it that strips accents,
/// whose database is older.
bool is_combining(char32_t point);
bool is_extending(char32_t point);

}  // namespace kiln::unicode
