// UTF-8 as the format of names in files.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

/// Returns whether it is well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_utf8(std::string_view text);
/// Appends `point`, which must be a code point up to 0x10ffff and not a surrogate.
void append_utf8(std::string& out, std::uint32_t point);

}  // namespace kiln
