// Tables of words, and sizes as people read them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::cli {

using Row = std::vector<std::string>;

/// Columns as wide as their widest entry, two spaces between them.
std::string table(const std::vector<Row>& rows);
/// "1.5 MiB"
std::string bytes_text(std::int64_t bytes);

}  // namespace kiln::cli
