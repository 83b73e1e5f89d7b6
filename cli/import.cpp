#include <algorithm>
#include <filesystem>

#include "cli/generated.hpp"
#include "cli/sizes.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/onnx/generate/generate.hpp"
#include "kiln/onnx/print.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln::cli {
namespace fs = std::filesystem;
namespace {

TensorSource source_of(const std::map<std::string, Value>& weights) {
  TensorSource source;
  for (const auto& [name, value] : weights) {
    StoredTensor tensor;
    tensor.shape = value.shape();
    tensor.dtype = value.dtype();
    tensor.read = [value = value] { return value.data(); };
    source.tensors.emplace(name, std::move(tensor));
  }
  return source;
}

bool is_data_set(const fs::directory_entry& entry) {
  return entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_");
}

// The data sets of the standard's form beside the model, in their order.
std::vector<fs::path> data_sets_of(const ImportOptions& options) {
  const fs::path beside = options.data.empty() ? fs::path(options.file).parent_path() : fs::path(options.data);
  std::vector<fs::path> sets;
  for (const fs::directory_entry& entry : fs::directory_iterator(beside.empty() ? "." : beside))
    if (is_data_set(entry)) sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  return sets;
}

// The file's own data, or what the importer's run gave.
std::string write_data(const std::vector<fs::path>& sets, const onnx::GeneratedCode& code, const fs::path& to) {
  for (const fs::path& from : sets) {
    const fs::path set = to / from.filename();
    if (fs::exists(set) && fs::equivalent(from, set)) continue;
    fs::create_directories(set);
    for (const fs::directory_entry& file : fs::directory_iterator(from))
      if (file.path().extension() == ".pb")
        write_file_atomically((set / file.path().filename()).string(), read_text_file(file.path().string()));
  }
  if (!sets.empty()) return text("the test has ", sets.size(), " data sets of the file's\n");
  if (code.outputs.empty())
    return text("the test has no data, since the model did not run on examples: ", code.why_no_outputs, '\n');
  const fs::path set = to / "test_data_set_0";
  fs::create_directories(set);
  for (std::size_t i = 0; i < code.inputs.size(); ++i)
    write_file_atomically((set / text("input_", i, ".pb")).string(), onnx::print_datum(code.inputs[i]));
  for (std::size_t i = 0; i < code.outputs.size(); ++i)
    write_file_atomically((set / text("output_", i, ".pb")).string(), onnx::print_datum(code.outputs[i]));
  return "the test has what the model gave for random inputs\n";
}

}  // namespace

void write_code(const onnx::GeneratedCode& code, const std::string& directory) {
  const fs::path to = directory;
  fs::create_directories(to);
  for (const auto& [name, contents] : code.files) write_file_atomically((to / name).string(), contents);
  if (!code.weights.empty()) write_tensors(source_of(code.weights), (to / (code.name + ".safetensors")).string());
}

std::string import_onnx(const ImportOptions& options) {
  const std::vector<fs::path> sets = data_sets_of(options);
  const onnx::GeneratedCode code = onnx::generate(options.file, {.name = options.name,
                                                                 .sizes = sizes_of(options.sizes, "import"),
                                                                 .data = sets.empty() ? "" : sets.front().string()});
  const fs::path to = options.directory.empty() ? fs::path(code.name) : fs::path(options.directory);
  write_code(code, to.string());
  std::string said;
  for (const auto& [name, contents] : code.files) said += text(shown((to / name).string()), '\n');
  if (!code.weights.empty()) said += text(shown((to / (code.name + ".safetensors")).string()), '\n');
  return said + write_data(sets, code, to);
}

}  // namespace kiln::cli
