#include <algorithm>

#include "cli/commands.hpp"
#include "cli/statistics.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/edit.hpp"

namespace kiln::cli {
namespace {

using Row = std::vector<std::string>;

/// Columns as wide as their widest entry, two spaces between them.
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

Row row_of(const std::string& name, const StoredTensor& tensor, bool quick) {
  Row row{shown(name), text(tensor.dtype, tensor.encoding.empty() ? "" : " (" + tensor.encoding + ")"),
          text(tensor.shape), bytes_text(tensor.stored_bytes)};
  if (quick) return row;
  const Statistics s = statistics_of(tensor.read());
  for (const double number : {s.least, s.most, s.mean, s.deviation}) row.push_back(short_number(number));
  if (s.not_finite > 0) row.push_back(text(s.not_finite, " NaN or infinite"));
  return row;
}

}  // namespace

std::string inspect(const InspectOptions& options) {
  constexpr std::size_t kLongest = 200;
  TensorSource source = open_tensors(options.file);
  if (!options.only.empty()) source = filtered(source, std::span(&options.only, 1), {});
  std::int64_t elements = 0, bytes = 0;
  std::vector<Row> rows = {{"tensor", "type", "shape", "stored"}};
  if (!options.quick)
    for (const char* column : {"least", "most", "mean", "deviation"}) rows[0].emplace_back(column);
  for (const auto& [name, tensor] : source.tensors) {
    rows.push_back(row_of(name, tensor, options.quick));
    elements += numel(tensor.shape);
    bytes += tensor.stored_bytes;
  }
  std::string out = text(shown(options.file), ": ", source.format, ", ", source.tensors.size(), " tensors, ", elements,
                         " elements, ", bytes_text(bytes), '\n');
  if (!source.tensors.empty()) out += table(rows);
  for (const auto& [key, value] : source.metadata)
    out += text(shown(key), " = ", escaped(value.substr(0, kLongest)), value.size() > kLongest ? "..." : "", '\n');
  return out;
}

}  // namespace kiln::cli
