#include "kiln/onnx/generate/generate.hpp"

#include <filesystem>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/backend_test.hpp"
#include "kiln/onnx/generate/print.hpp"
#include "kiln/onnx/summary.hpp"

namespace kiln::onnx {
GeneratedCode generate(const std::string& path, const GenerateOptions& options) try {
  using namespace cpp;
  const Device device = Device::cpu();
  const std::string file = std::filesystem::path(path).filename().string();
  const Model model = load(path, device, {.simplify = false});
  const RunContext context{device.inner(), path};
  const Graph graph = prepared(model.graph(), context);

  GeneratedCode code;
  Subject subject;
  subject.inputs = model.inputs();
  subject.outputs = model.outputs();
  std::vector<Datum> inputs;
  try {
    if (!options.data.empty()) inputs = read_inputs(options.data, subject.inputs, device);
    else inputs = example_inputs(model, options.sizes);
  } catch (const ArgumentError& error) {
    inputs.clear();
    code.why_no_outputs = error.message();
  }
  Examples examples = examples_of(graph, inputs, context);
  const Program program = lower(graph, examples.observed, path);
  const std::string& why_not = examples.observed.why_not;
  require<LoadError>(why_not.empty() || options.untried, shown(path), ": the model does not run on ",
                     options.data.empty() ? "examples that are made up" : "the examples in " + shown(options.data),
                     ", and neither would its code: ", why_not,
                     "; kiln import takes free sizes (--size), examples (--data, a directory with test_data_set_0), or "
                     "writes the code as it is (--untried)");
  if (code.why_no_outputs.empty()) code.why_no_outputs = why_not;

  const std::string stem = std::filesystem::path(path).stem().string();
  subject.name = code.name = identifier(options.name.empty() ? stem : options.name, "model");
  subject.file = file;
  for (const int input : program.inputs) subject.input_types.push_back(program[input].type);
  subject.random = any_node(graph, [](const Node& node) { return node.row && node.row->traits.random; });
  subject.has_weights = !program.layers.empty();
  Structs structs = structs_of(program, subject.name, path);
  find_parameters(structs, program);
  code.weights = weights_of(structs, program);
  code.files[subject.name + ".hpp"] = header_text(structs, subject);
  code.files[subject.name + ".cpp"] = source_text(structs, subject);
  code.files[subject.name + "_test.cpp"] = test_text(structs, subject);
  code.files["CMakeLists.txt"] = cmake_text(subject);
  code.adapter = adapter_text(structs, subject);
  code.type = structs.name;
  code.examples = std::move(examples.list);
  code.unreached = std::move(examples.unreached);
  return code;
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln::onnx
