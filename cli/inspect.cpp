#include "cli/commands.hpp"
#include "cli/selected.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/edit.hpp"

namespace kiln::cli {
namespace {

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
  require<ArgumentError>(!options.file.ends_with(".onnx"), "inspect: ", shown(options.file),
                         " is a model, not a file of tensors: kiln onnx says what an .onnx file holds");
  TensorSource source = open_tensors(options.file);
  source = selected(source, options.only, {});
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
  for (const auto& [name, reason] : source.left_out) out += text("left out: '", shown(name), "' ", reason, '\n');
  for (const auto& [key, value] : source.metadata)
    out += text(shown(key), " = ", escaped(value.substr(0, kLongest)), value.size() > kLongest ? "..." : "", '\n');
  return out;
}

}  // namespace kiln::cli
