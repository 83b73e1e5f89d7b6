#include "kiln/compile/onnx.hpp"

#include <set>

#include "kiln/compile/simplify.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/call.hpp"
#include "kiln/onnx/model.hpp"

namespace kiln::compile {
namespace {

bool is_quantised(const onnx::Graph& graph) {
  static const std::set<std::string_view> kOperators = {"QuantizeLinear", "DequantizeLinear", "QLinearConv",
                                                        "QLinearMatMul",  "ConvInteger",      "MatMulInteger"};
  return onnx::any_node(graph, [](const onnx::Node& node) { return kOperators.count(node.op) != 0; });
}

/// A quantised file is taken as it stands: passes would make floats of its integers.
onnx::Model load(const std::string& path, const Device& device) {
  onnx::Model plain = onnx::load(path, device, {.simplify = false});
  return is_quantised(plain.graph()) ? plain : onnx::load(path, device);
}

void require_sizes(const onnx::Model& model, const onnx::Sizes& sizes, const std::string& path) {
  std::set<std::string> free, known;
  for (const onnx::ValueInfo& input : model.inputs()) {
    require<ArgumentError>(input.type.shape.has_value(), "compile: ", shown(path), ": the input '", shown(input.name),
                           "' has no shape, so that no sizes can be given; export the model with shapes");
    for (std::size_t d = 0; d < input.type.shape->size(); ++d) {
      const onnx::DimProto& dim = (*input.type.shape)[d];
      if (dim.value && *dim.value > 0) continue;
      const std::string name = dim.param.empty() ? text(input.name, '[', d, ']') : dim.param;
      known.insert(name);
      if (!sizes.count(name)) free.insert(name);
    }
  }
  std::string list, remedy;
  for (const std::string& name : free) {
    list += text(list.empty() ? "" : ", ", shown(name));
    remedy += text(" --size '", shown(name), "=1'");
  }
  require<ArgumentError>(free.empty(), "compile: ", shown(path), " leaves sizes free, which a program without a heap ",
                         "must know: ", list, ". Give each a number, for example", remedy);
  for (const auto& [name, size] : sizes) {
    require<ArgumentError>(known.count(name) != 0, "compile: ", shown(path), " has no free size '", shown(name), "'");
    require<ArgumentError>(size > 0, "compile: the size '", shown(name), "' must be positive, got ", size);
  }
}

/// Tensors of 8-bit integers, which are not to be computed with before the program runs.
std::vector<int> kept_constants(const onnx::Graph& graph) {
  std::vector<int> kept;
  for (const auto& [value, constant] : graph.constants)
    if (constant.is_tensor() && !constant.is_string() && constant.value().node() && is_kept(constant.value()))
      kept.push_back(value);
  return kept;
}

}  // namespace

Source onnx_source(const std::string& path, const onnx::Sizes& sizes) {
  const Device device = Device::parse("cpu");
  const onnx::Model model = load(path, device);
  require_sizes(model, sizes, path);
  const onnx::Graph& graph = model.graph();
  const std::vector<onnx::Datum> inputs = onnx::example_inputs(model, sizes);
  const std::vector<int> kept = is_quantised(graph) ? kept_constants(graph) : std::vector<int>();

  Source source{.graph = Graph(Ref<const GraphBody>())};
  Values examples;
  for (const onnx::Datum& input : inputs) {
    require<ArgumentError>(input.is_tensor() && !input.is_string(), "compile: ", shown(path),
                           " has an input that is no tensor of numbers");
    examples.push_back(input.value());
  }
  for (const int value : kept) {
    source.bound.push_back(graph.constants.at(value).value());
    examples.push_back(source.bound.back());
  }
  const auto record = [&](const Values& values) {
    std::vector<onnx::Datum> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) given.emplace_back(values[i], inputs[i].element());
    std::map<int, onnx::Datum> constants;
    for (std::size_t i = 0; i < kept.size(); ++i)
      constants.emplace(kept[i], onnx::Datum(values[inputs.size() + i], graph.constants.at(kept[i]).element()));
    Values results;
    const onnx::RunContext context{.device = device, .file = path};
    for (const onnx::Datum& output : onnx::run_graph(graph, std::move(given), nullptr, context, &constants)) {
      require<ArgumentError>(output.is_tensor() && !output.is_string(), "compile: ", shown(path),
                             " has an output that is no tensor of numbers");
      results.push_back(output.value());
    }
    return results;
  };
  const auto remedy = [&](ErrorKind, std::string& out) {
    out +=
        "; a program without a heap can depend on the shapes of its inputs, not on what they hold: make such an input "
        "a constant of the file";
  };
  source.graph = [&] {
    try {
      return capture_graph(record, examples, {.random = false});
    } catch (const DeviceError&) {
      const ErrorContext scope(remedy);
      return capture_graph(record, examples, {.random = false});
    }
  }();
  for (const onnx::ValueInfo& input : model.inputs()) source.inputs.push_back(input.name);
  for (const onnx::ValueInfo& output : model.outputs()) source.outputs.push_back(output.name);
  return source;
}

}  // namespace kiln::compile
