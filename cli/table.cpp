#include "cli/table.hpp"

#include <algorithm>
#include <string_view>

#include "cli/statistics.hpp"

namespace kiln::cli {

std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - row[i].size() + 2, ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::string_view kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); size /= 1024) ++unit;
  return short_number(size) + std::string(kUnits[unit]);
}

}  // namespace kiln::cli
