// Tables of words, and human-readable sizes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::cli {

using Row = std::vector<std::string>;

/// Makes each column as wide as its widest entry, with two spaces between columns.
std::string table(const std::vector<Row>& rows);
/// Formats a size, "1.5 MiB".
std::string bytes_text(std::int64_t bytes);

}  // namespace kiln::cli
