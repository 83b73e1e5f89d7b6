#include "kiln/store/record.hpp"

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln::detail {
namespace {

/// Empty where the tensor can become the part; otherwise what keeps it from that.
std::string misfit(const RecordPart& part, const TensorView& tensor, std::string_view owner) {
  if (tensor.shape != part.value.shape())
    return text("tensor '", shown(part.name), "' has shape ", tensor.shape, ", the ", owner, " expects ",
                part.value.shape());
  if (kind_of(tensor.dtype) != kind_of(part.value.dtype()))
    return text("tensor '", shown(part.name), "' is ", tensor.dtype, ", the ", owner, " expects ", part.value.dtype());
  return {};
}

std::vector<std::string_view> unexpected_names(const TensorFileView& record, const std::vector<RecordPart>& parts) {
  std::map<std::string_view, bool> expected;
  for (const RecordPart& part : parts) expected.emplace(part.name, true);
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : record.tensors)
    if (!expected.contains(name)) names.push_back(name);
  return names;
}

std::vector<std::string> misfits(const TensorFileView& record, const std::vector<RecordPart>& parts,
                                 std::string_view owner, const LoadOptions& options) {
  const std::vector<std::string_view> unexpected = unexpected_names(record, parts);
  std::vector<std::string> problems;
  for (const RecordPart& part : parts) {
    const auto found = record.tensors.find(part.name);
    if (found == record.tensors.end()) {
      problems.push_back(text("'", shown(part.name), "' is missing", did_you_mean(part.name, unexpected)));
    } else if (std::string problem = misfit(part, found->second, owner); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  if (options.allow_unexpected) return problems;
  for (const auto name : unexpected)
    problems.push_back(text("'", shown(name), "' is unexpected, the ", owner, " has none"));
  return problems;
}

Value taken_over(const TensorView& tensor, const Value& expected) {
  TensorData data(tensor.shape, tensor.dtype, {tensor.bytes.begin(), tensor.bytes.end()});
  if (expected.is_scalar()) return Value(data.to_vector<std::int64_t>()[0]);
  return from_data(tensor.dtype == expected.dtype() ? std::move(data) : data.to(expected.dtype()), expected.device());
}

}  // namespace

Values fit(const TensorFileView& record, const std::vector<RecordPart>& parts, std::string_view owner,
           std::string_view file, const LoadOptions& options) {
  const std::vector<std::string> problems = misfits(record, parts, owner, options);
  if (problems.size() == 1) fail<LoadError>(file, ": ", problems[0]);
  if (!problems.empty()) {
    std::string list;
    for (const std::string& problem : problems) list += "\n  " + problem;
    fail<LoadError>(file, ": does not fit the ", owner, ":", list);
  }
  Values values;
  for (const RecordPart& part : parts) values.push_back(taken_over(record.tensors.at(part.name), part.value));
  return values;
}

TensorFile to_tensor_file(const std::vector<RecordPart>& parts, const Metadata& metadata) {
  TensorFile file{.tensors = {}, .metadata = metadata};
  for (const RecordPart& part : parts) file.tensors.emplace(part.name, part.value.data());
  return file;
}

}  // namespace kiln::detail
