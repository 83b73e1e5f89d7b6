#include "kiln/store/record/object_record.hpp"

#include <cmath>
#include <limits>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/store/record/record_file.hpp"

namespace kiln::detail {

template const ValueAccess& value_access<bool>();
template const ValueAccess& value_access<std::int64_t>();
template const ValueAccess& value_access<double>();
template const ValueAccess& value_access<InlineList<std::int64_t, 3>>();
template const ValueAccess& value_access<PadMode>();
template void visit_record(const nn::Activation&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::LayerNorm&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::Linear&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::MultiHeadAttention&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::Normalization&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::PositionWiseFeedForward&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::SequenceNorm&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::TransformerDecoder&, const std::string&, RecordVisitor&, nn::VisitedParams&);
template void visit_record(const nn::TransformerEncoder&, const std::string&, RecordVisitor&, nn::VisitedParams&);

namespace {

constexpr std::string_view kValue = "value.";

/// Parses a stored value. A float may also be a word for a number that JSON does not have.
Json parse_value(const std::string& said, const ValueAccess& access, std::string_view file) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (access.is_float && said == "nan") return {std::numeric_limits<double>::quiet_NaN()};
  if (access.is_float && said == "inf") return {kInfinity};
  if (access.is_float && said == "-inf") return {-kInfinity};
  return parse_json(said, file);
}
std::string write_value(const Json& json, bool is_float) {
  const double* const number = is_float ? std::get_if<double>(&json.is) : nullptr;
  if (!number || std::isfinite(*number)) return write_json(json);
  return std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf";
}

}  // namespace

void RecordWriter::tensor(const std::string& path, const Value& value) {
  record_.tensors.merge(source_of({{path, value}}, {}).tensors);
}

void RecordWriter::leaf(const std::string& path, const void* leaf, const nn::TensorAccess& access) {
  if (const Value& value = access.value(leaf); !value.empty()) tensor(path, value);
}

void RecordWriter::list(const std::string& path, const void* list, const ListAccess& access) {
  record_.tensors.emplace(path, stored(access.numbers(list)));
}

void RecordWriter::value(const std::string& path, const void* value, const ValueAccess& access) {
  record_.metadata[text(kValue, path)] = write_value(access.write(value), access.is_float);
}

RecordReader::RecordReader(const TensorSource& record, std::string_view file, const LoadOptions& options)
    : record_(record), file_(file), options_(options) {
  for (const auto& [key, value] : record.metadata)
    if (key.starts_with(kValue)) values_left_.emplace(key.substr(kValue.size()), value);
}

void RecordReader::leaf(const std::string& path, const void* leaf, const nn::TensorAccess& access) {
  if (const Value& value = access.value(leaf); !value.empty()) tensor(path, value);
}

void RecordReader::list(const std::string& path, const void*, const ListAccess&) {
  lists_.insert(path);
  others_.push_back({path, Value()});
  if (!wants(options_, path)) return;
  const auto found = record_.tensors.find(path);
  if (found == record_.tensors.end()) return problems_.push_back(text("list '", shown(path), "' is missing"));
  require<LoadError>(found->second.shape.size() == 1, file_, ": list '", shown(path), "' has shape ",
                     found->second.shape);
  static_cast<void>(found->second.read());  // a damaged tensor fails here, before anything changes
}

void RecordReader::value(const std::string& path, const void* value, const ValueAccess& access) {
  values_left_.erase(path);
  others_.push_back({path, Value()});
  if (!wants(options_, path)) return;
  const auto found = record_.metadata.find(text(kValue, path));
  if (found == record_.metadata.end()) problems_.push_back(text("value '", shown(path), "' is missing"));
  else access.read(parse_value(found->second, access, file_), value, {file_, path}, false);
}

LoadedValues RecordReader::fit() {
  std::vector<RecordPart> all = parts_;
  all.insert(all.end(), others_.begin(), others_.end());
  require_selected("load_record", all, options_.only, "object");
  std::erase_if(values_left_, [&](const auto& entry) { return !wants(options_, entry.first); });
  if (!options_.allow_unexpected)
    for (const auto& [path, value] : values_left_) problems_.push_back(text("value '", shown(path), "' is unexpected"));
  for (const std::string& problem : problems_)
    require<LoadError>(options_.allow_missing && problem.ends_with("missing"), file_, ": ", problem);
  TensorSource tensors{.tensors = record_.tensors, .metadata = {}};
  std::erase_if(tensors.tensors, [&](const auto& entry) { return lists_.contains(entry.first); });
  LoadedValues fitted = detail::fit(tensors, parts_, "object", file_, options_);
  fitted.report.missing.insert(fitted.report.missing.end(), problems_.begin(), problems_.end());
  for (const auto& [path, value] : values_left_) fitted.report.unused.push_back(path);
  return fitted;
}

void RecordAssigner::tensor(const std::string&, const Value& part) {
  if (const Value& value = values_[next_++]; !value.empty()) const_cast<Value&>(part) = value;
}

void RecordAssigner::leaf(const std::string&, const void* leaf, const nn::TensorAccess& access) {
  if (access.value(leaf).empty()) return;
  if (const Value& value = values_[next_++]; !value.empty()) access.set(const_cast<void*>(leaf), value);
}

void RecordAssigner::tied(const void* param, const void* first, const nn::TensorAccess& access) {
  access.tie(const_cast<void*>(param), first);
}

void RecordAssigner::list(const std::string& path, const void* list, const ListAccess& access) {
  if (!wants(options_, path)) return;
  if (const auto found = record_.tensors.find(path); found != record_.tensors.end())
    access.take(list, found->second.read());
}

void RecordAssigner::value(const std::string& path, const void* value, const ValueAccess& access) {
  if (!wants(options_, path)) return;
  if (const auto found = record_.metadata.find(text(kValue, path)); found != record_.metadata.end())
    access.read(parse_value(found->second, access, file_), value, {file_, path}, true);
}

void write_record_of(const TensorSource& record, const std::string& path, const RecordOptions& options) try {
  for (const auto& [key, value] : options.metadata)
    require<ArgumentError>(!key.starts_with(kValue), "save_record: the metadata '", shown(key),
                           "' would be read as a value of the object");
  TensorSource source = record;
  if (options.floats) {
    source = with_floats(filtered(record, [&](const std::string& name) { return options.floats_of.matches(name); }),
                         *options.floats);
    source.tensors.insert(record.tensors.begin(), record.tensors.end());  // adds those that were not converted
  }
  if (!path.ends_with(".kiln")) {
    require<ArgumentError>(!options.compress, "save_record: ", shown(path), ": only .kiln files are compressed");
    return write_tensors(source, path);
  }
  write_file_atomically(path, [&](FileReplacement& file) {
    write_record(source, [&](std::span<const std::byte> piece) { file.write(piece); }, {.compress = options.compress});
  });
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln::detail
