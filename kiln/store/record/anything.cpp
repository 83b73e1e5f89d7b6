#include "kiln/store/record/anything.hpp"

#include "kiln/store/record/record_file.hpp"

namespace kiln::detail {
namespace {
constexpr std::string_view kValue = "value.";
}

void RecordWriter::tensor(const std::string& path, const Value& value) {
  record.tensors.merge(source_of({{path, value}}, {}).tensors);
}

RecordReader::RecordReader(const TensorSource& source, std::string_view name) : record(source), file(name) {
  for (const auto& [key, value] : record.metadata)
    if (key.starts_with(kValue)) values_left.emplace(key.substr(kValue.size()), value);
}

const std::string* RecordReader::find(const std::string& path) {
  values_left.erase(path);
  const auto found = record.metadata.find(text(kValue, path));
  if (found != record.metadata.end()) return &found->second;
  problems.push_back(text("value '", shown(path), "' is missing"));
  return nullptr;
}

void RecordReader::check_list(const std::string& path) {
  const auto found = record.tensors.find(path);
  if (found == record.tensors.end()) return problems.push_back(text("list '", shown(path), "' is missing"));
  require<LoadError>(found->second.shape.size() == 1, file, ": list '", shown(path), "' has shape ",
                     found->second.shape);
  static_cast<void>(found->second.read());  // which fails now, if it is damaged
}

void write_record_of(const TensorSource& record, const std::string& path, const RecordOptions& options) {
  for (const auto& [key, value] : options.metadata)
    require<ArgumentError>(!key.starts_with(kValue), "save_record: the metadata '", shown(key),
                           "' would be taken for a value of the object");
  const TensorSource source = options.floats ? with_floats(record, *options.floats) : record;
  if (!path.ends_with(".kiln")) {
    require<ArgumentError>(!options.compress, "save_record: ", shown(path), ": only .kiln files are compressed");
    return write_tensors(source, path);
  }
  write_file_atomically(path, [&](FileReplacement& file) {
    write_record(source, [&](std::span<const std::byte> piece) { file.write(piece); }, {.compress = options.compress});
  });
}

Fitted fit_record(RecordReader& reader, const LoadOptions& options) {
  if (!options.allow_unexpected)
    for (const auto& [path, value] : reader.values_left)
      reader.problems.push_back(text("value '", shown(path), "' is unexpected"));
  for (const std::string& problem : reader.problems)
    require<LoadError>(options.allow_missing && problem.ends_with("missing"), reader.file, ": ", problem);
  TensorSource tensors{.tensors = reader.record.tensors, .metadata = {}};
  std::erase_if(tensors.tensors, [&](const auto& entry) { return reader.lists.contains(entry.first); });
  Fitted fitted = fit(tensors, reader.parts, "object", reader.file, options);
  fitted.report.missing.insert(fitted.report.missing.end(), reader.problems.begin(), reader.problems.end());
  for (const auto& [path, value] : reader.values_left) fitted.report.unused.push_back(path);
  return fitted;
}

}  // namespace kiln::detail
