#include "kiln/compile/compile.hpp"

#include <charconv>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/sizes.hpp"
#include "kiln/compile/onnx.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/graph_file.hpp"

namespace kiln::cli {
namespace fs = std::filesystem;
namespace {

/// Parses words such as "shape=2,3".
compile::FixedInputs values_of(const std::vector<std::string>& words) {
  compile::FixedInputs values;
  for (const std::string& each : words) {
    const std::size_t equals = each.rfind('=');
    bool numbers = equals != std::string::npos;
    std::vector<double> list;
    const char* at = each.c_str() + (numbers ? equals + 1 : 0);
    const char* const last = each.c_str() + each.size();
    while (numbers && at < last) {
      double number = 0;
      const auto [end, problem] = std::from_chars(at, last, number);
      numbers = problem == std::errc() && (end == last || (*end == ',' && end + 1 < last));
      list.push_back(number);
      at = end == last ? last : end + 1;
    }
    require<ArgumentError>(numbers, "compile: --value takes 'name=number,number', got '", shown(each), "'");
    values[each.substr(0, equals)] = std::move(list);
  }
  return values;
}

compile::Source source_of(const CompileOptions& options) {
  if (fs::path(options.file).extension() == ".onnx")
    return compile::onnx_source(options.file, sizes_of(options.sizes, "compile"), values_of(options.values));
  require<ArgumentError>(options.sizes.empty() && options.values.empty(), "compile: ", shown(options.file),
                         " is a captured graph, whose sizes are known: --size and --value are for .onnx files");
  return {.graph = load_graph(options.file, Device::parse("cpu"))};
}

/// Its programs say in their first words that Kiln wrote them.
void require_own(const compile::CompiledCode& code, const fs::path& to) {
  std::string others;
  for (const auto& [name, contents] : code.files) {
    const fs::path path = to / name;
    const std::string first = contents.substr(0, contents.find("Kiln") + 4);
    if (fs::exists(path) && !read_text_file(path.string()).starts_with(first))
      others += text(others.empty() ? "" : ", ", shown(path.string()));
  }
  require<ArgumentError>(others.empty(), "compile: what exists was not written by it and would be lost: ", others,
                         "; --force overwrites it, -o names another directory, --name other files");
}

}  // namespace

std::string compile_program(const CompileOptions& options) {
  const fs::path to = options.directory;
  const compile::CompiledCode code = compile::compile(
      source_of(options), {.name = options.name.empty() ? fs::path(options.file).stem().string() : options.name,
                           .target = options.target,
                           .weights = options.weights == "float16" ? DType::F16 : DType::F32,
                           .ram = options.ram,
                           .flash = options.flash});
  if (!options.force) require_own(code, to);
  std::error_code problem;
  fs::create_directories(to, problem);
  require<IoError>(!problem, "cannot make the directory ", shown(to.string()), ": ", problem.message());
  std::string said;
  for (const auto& [name, contents] : code.files) {
    write_file_atomically((to / name).string(), contents);
    said += text(shown((to / name).string()), '\n');
  }
  return text(said, code.loops, " steps in ", code.functions, " functions, ", code.arena_bytes, " bytes of memory, ",
              code.constant_bytes, " bytes of constants\n");
}

}  // namespace kiln::cli
