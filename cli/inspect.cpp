#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/selected.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/edit.hpp"
#include "kiln/train/checkpoint_folder.hpp"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

Row row_of(const std::string& name, const StoredTensor& tensor, bool quick) {
  Row row{shown(name), text(tensor.dtype, tensor.encoding.empty() ? "" : " (" + tensor.encoding + ")"),
          text(tensor.shape), bytes_text(tensor.stored_bytes)};
  if (quick) return row;
  const Statistics s = statistics_of(tensor.read());
  for (const double number : {s.least, s.most, s.mean, s.deviation}) row.push_back(short_number(number));
  if (s.not_finite > 0) row.push_back(text(s.not_finite, " NaN or infinite"));
  return row;
}

/// Lists the checkpoints of a training in a directory, or in that of a run. Returns an empty string if there are none.
std::string checkpoints_in(const fs::path& directory) {
  for (const fs::path& place : {directory, directory / "checkpoint"}) {
    const training::CheckpointFolder folder = training::scan(place);
    if (folder.complete.empty()) continue;
    std::vector<Row> rows = {{"checkpoint", "step", "seconds", "stored"}};
    const bool measured =
        std::ranges::any_of(folder.complete, [](const auto& found) { return found.kept.value.has_value(); });
    if (measured) rows[0].push_back(escaped(folder.complete.back().stamp.measured));
    for (const training::FoundCheckpoint& found : folder.complete) {
      std::error_code ignored;
      const auto bytes = static_cast<std::int64_t>(fs::file_size(place / found.kept.file, ignored));
      Row& row = rows.emplace_back(
          Row{found.kept.file, text(found.kept.step), short_number(found.kept.seconds), bytes_text(bytes)});
      if (measured) row.push_back(found.kept.value ? short_number(*found.kept.value) : "");
    }
    std::string out = text(escaped(place.string()), ": checkpoints of a training; name one of them, as ",
                           escaped((place / folder.complete.back().kept.file).string()), '\n', table(rows));
    for (const std::string& note : folder.notes) out += note + '\n';
    return out;
  }
  return "";
}

}  // namespace

std::string inspect(const InspectOptions& options) {
  constexpr std::size_t kLongest = 200;
  std::error_code ignored;
  if (fs::is_directory(options.file, ignored))
    if (std::string listed = checkpoints_in(options.file); !listed.empty()) return listed;
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
  std::string out = text(escaped(options.file), ": ", source.format, ", ", source.tensors.size(), " tensors, ",
                         elements, " elements, ", bytes_text(bytes), '\n');
  if (!source.tensors.empty()) out += table(rows);
  for (const auto& [name, reason] : source.left_out) out += text("left out: '", shown(name), "' ", reason, '\n');
  for (const auto& [key, value] : source.metadata)
    out += text(shown(key), " = ", escaped(value.substr(0, kLongest)), value.size() > kLongest ? "..." : "", '\n');
  return out;
}

}  // namespace kiln::cli
