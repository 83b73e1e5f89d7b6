#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/generated.hpp"
#include "cli/sizes.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/folder.hpp"
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

std::vector<fs::path> paths_of(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> paths = paths_in(folder, problem);
  require<IoError>(!problem, "cannot read the directory ", shown(folder.string()), ": ", problem.message());
  return paths;
}

bool is_data_set(const fs::path& path) {
  return fs::is_directory(path) && path.filename().string().starts_with("test_data_set_");
}

// Returns the data sets next to the model that have the standard's form, in their order.
std::vector<fs::path> data_sets_of(const ImportOptions& options) {
  const fs::path beside = options.data.empty() ? fs::path(options.file).parent_path() : fs::path(options.data);
  std::vector<fs::path> sets;
  for (const fs::path& path : paths_of(beside.empty() ? "." : beside))
    if (is_data_set(path)) sets.push_back(path);
  std::sort(sets.begin(), sets.end());
  return sets;
}

/// The files to be written, by path, as bytes or as tensors.
struct Plan {
  std::map<std::string, std::string> files;
  std::map<std::string, TensorSource> weights;

  void write() const {
    for (const auto& [path, contents] : files) {
      fs::create_directories(fs::path(path).parent_path());
      write_file_atomically(path, contents);
    }
    for (const auto& [path, source] : weights) {
      fs::create_directories(fs::path(path).parent_path());
      write_tensors(source, path);
    }
  }
};

// Returns whether the existing file has the contents that would be written.
bool has_contents(const std::string& path, const TensorSource& source) {
  const FileBytes file = map_file(path);
  std::span<const std::byte> left = file.bytes;
  bool same = true;
  format_for_writing(path).write(source, [&](std::span<const std::byte> piece) {
    same = same && piece.size() <= left.size() && std::equal(piece.begin(), piece.end(), left.begin());
    if (same) left = left.subspan(piece.size());
  });
  return same && left.empty();
}

void require_unchanged(const Plan& plan) {
  std::string changed;
  const auto add = [&](const std::string& path) { changed += text(changed.empty() ? "" : ", ", shown(path)); };
  for (const auto& [path, contents] : plan.files)
    if (fs::exists(path) && read_text_file(path) != contents) add(path);
  for (const auto& [path, source] : plan.weights)
    if (fs::exists(path) && !has_contents(path, source)) add(path);
  require<ArgumentError>(changed.empty(),
                         "import: what exists is not what would be written, so that changes would be "
                         "lost: ",
                         changed, "; --force overwrites it, -o names another directory");
}

Plan planned(const onnx::GeneratedCode& code, const fs::path& to) {
  Plan plan;
  for (const auto& [name, contents] : code.files) plan.files[(to / name).string()] = contents;
  if (!code.weights.empty()) plan.weights[(to / (code.name + ".safetensors")).string()] = source_of(code.weights);
  return plan;
}

// Plans the data sets of the file, and those of the importer's runs: all of its runs if the file has no data sets,
// otherwise those that take further branches.
std::string plan_data(const std::vector<fs::path>& sets, const onnx::GeneratedCode& code, const fs::path& to,
                      Plan& plan) {
  std::set<std::string> names;
  for (const fs::path& from : sets) {
    const fs::path set = to / from.filename();
    names.insert(from.filename().string());
    if (fs::exists(set) && fs::equivalent(from, set)) continue;
    for (const fs::path& file : paths_of(from))
      if (file.extension() == ".pb") plan.files[(set / file.filename()).string()] = read_text_file(file.string());
  }
  std::size_t number = 0;
  for (std::size_t example = sets.empty() ? 0 : 1; example < code.examples.size(); ++example) {
    while (names.count(text("test_data_set_", number))) ++number;
    const fs::path set = to / text("test_data_set_", number++);
    const auto add = [&](const std::vector<onnx::Datum>& data, const char* name) {
      for (std::size_t i = 0; i < data.size(); ++i)
        plan.files[(set / text(name, i, ".pb")).string()] = onnx::print_datum(data[i]);
    };
    add(code.examples[example].inputs, "input_");
    add(code.examples[example].outputs, "output_");
  }
  std::string said;
  if (!sets.empty()) said = text("the test has ", sets.size(), " data sets of the file's\n");
  else if (code.examples.empty())
    said = text("the test has no data, since the model did not run on examples: ", code.why_no_outputs, '\n');
  else said = "the test has what the model gave for random inputs\n";
  const std::size_t more = code.examples.empty() ? 0 : code.examples.size() - 1;
  if (more) said += text("and ", more, more == 1 ? " set" : " sets", " of inputs that take other branches\n");
  for (const std::string& body : code.unreached)
    said += text("no test runs ", body, ": a data set that does may be put beside the others\n");
  return said;
}

}  // namespace

void write_code(const onnx::GeneratedCode& code, const std::string& directory) { planned(code, directory).write(); }

std::string import_onnx(const ImportOptions& options) {
  const std::vector<fs::path> sets = data_sets_of(options);
  const onnx::GeneratedCode code = onnx::generate(options.file, {.name = options.name,
                                                                 .sizes = sizes_of(options.sizes, "import"),
                                                                 .data = sets.empty() ? "" : sets.front().string(),
                                                                 .untried = options.untried});
  const fs::path to = options.directory.empty() ? fs::path(code.name) : fs::path(options.directory);
  Plan plan = planned(code, to);
  const std::string about_data = plan_data(sets, code, to, plan);
  if (!options.force) require_unchanged(plan);
  plan.write();
  std::string said;
  for (const auto& [name, contents] : code.files) said += text(shown((to / name).string()), '\n');
  for (const auto& [path, source] : plan.weights) said += text(shown(path), '\n');
  return said + about_data;
}

}  // namespace kiln::cli
