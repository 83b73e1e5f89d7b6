// Names that come from outside, as a sentence may show them.
#pragma once
#include <string>
#include <string_view>

namespace kiln {

/// `text` without what a terminal obeys: control characters, and bytes that are no UTF-8, as "\x1b".
std::string escaped(std::string_view text, bool keep_lines = false);

/// A name from a file, the environment or a command line: escaped, and what is longer than 80 bytes without its middle.
std::string shown(std::string_view name);

}  // namespace kiln
