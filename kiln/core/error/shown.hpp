// Names from outside the program, made safe for an error sentence.
#pragma once
#include <string>
#include <string_view>

namespace kiln {

/// `text` with control characters, which a terminal would obey, and bytes that are not UTF-8 written as "\x1b".
std::string escaped(std::string_view text, bool keep_lines = false);

/// A name from a file, the environment or a command line: escaped, and cut in the middle where it is longer than 80
/// bytes.
std::string shown(std::string_view name);

}  // namespace kiln
