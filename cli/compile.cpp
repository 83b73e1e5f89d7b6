#include "kiln/compile/compile.hpp"

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

compile::Source source_of(const CompileOptions& options) {
  if (fs::path(options.file).extension() == ".onnx")
    return compile::onnx_source(options.file, sizes_of(options.sizes, "compile"));
  require<ArgumentError>(options.sizes.empty(), "compile: ", shown(options.file),
                         " is a captured graph, whose sizes are known: --size is for .onnx files");
  return {.graph = load_graph(options.file, Device::parse("cpu"))};
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
