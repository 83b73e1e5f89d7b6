#include "kiln/compile/onnx.hpp"

#include <algorithm>
#include <set>

#include "kiln/compile/simplify.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/size.hpp"
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

void require_sizes(const onnx::Model& model, const onnx::Sizes& sizes, const FixedInputs& fixed,
                   const std::string& path) {
  std::set<std::string> free, known;
  for (const onnx::ValueInfo& input : model.inputs()) {
    if (fixed.contains(input.name)) continue;
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

/// The tensor that the elements given for an input are. A size that the file leaves free is what they leave.
onnx::Datum fixed_input(const onnx::ValueInfo& input, const std::vector<double>& elements, const Device& device,
                        const std::string& path) {
  const onnx::TypeProto& type = input.type;
  const auto wrong = [&](const auto&... why) {
    fail<ArgumentError>("compile: the value given for the input '", shown(input.name), "' of ", shown(path), ' ',
                        why...);
  };
  const auto count = static_cast<std::int64_t>(elements.size());
  if (type.kind != onnx::TypeProto::Kind::Tensor || !type.shape || !onnx::is_known(type.element) ||
      type.element == onnx::Element::String)
    wrong("cannot be used: its type is no tensor of numbers with a shape");
  Shape shape;
  std::int64_t known = 1;
  int free = -1;
  for (const onnx::DimProto& dim : *type.shape) {
    const bool is_known = dim.value && *dim.value >= 0;
    if (!is_known && free >= 0) wrong("has no one shape: two sizes of the input are free");
    if (!is_known) free = shape.size();
    known = multiply_sizes("compile", known, is_known ? *dim.value : 1);
    shape.push_back(is_known ? *dim.value : 1);
  }
  if (free >= 0 && known > 0) shape[free] = count / known;
  if (numel(shape) != count) wrong("has ", count, " elements, and the input is of the shape ", shape);
  const DType dtype = onnx::dtype_of(type.element);
  const TensorData wide = TensorData::of<double>(shape, elements);
  if (!is_float(dtype) && !(wide.to(dtype).to_vector<double>() == elements))
    wrong("has numbers that ", dtype, " does not hold");
  return {from_data(wide.to(dtype), device), type.element};
}

void require_known(const onnx::Model& model, const FixedInputs& fixed, const std::string& path) {
  const std::vector<onnx::ValueInfo> inputs = model.inputs();
  for (const auto& [name, elements] : fixed)
    require<ArgumentError>(
        std::ranges::any_of(inputs, [&](const onnx::ValueInfo& input) { return input.name == name; }),
        "compile: ", shown(path), " has no input '", shown(name), "' that could be given a value");
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

Source onnx_source(const std::string& path, const onnx::Sizes& sizes, const FixedInputs& fixed) {
  const Device device = Device::parse("cpu");
  const onnx::Model model = load(path, device);
  require_known(model, fixed, path);
  require_sizes(model, sizes, fixed, path);
  const onnx::Graph& graph = model.graph();
  const std::vector<onnx::ValueInfo> infos = model.inputs();
  const std::vector<int> kept = is_quantised(graph) ? kept_constants(graph) : std::vector<int>();

  Source source{.graph = Graph(Ref<const GraphBody>())};
  // All inputs by position; those that are not fixed are the program's.
  std::vector<onnx::Datum> inputs = onnx::example_inputs(model, sizes);
  Values examples;
  std::vector<std::size_t> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (const auto known = fixed.find(infos[i].name); known != fixed.end()) {
      inputs[i] = fixed_input(infos[i], known->second, device, path);
      continue;
    }
    require<ArgumentError>(inputs[i].is_tensor() && !inputs[i].is_string(), "compile: ", shown(path),
                           " has an input that is no tensor of numbers");
    given.push_back(i);
    examples.push_back(inputs[i].value());
    source.inputs.push_back(infos[i].name);
  }
  for (const int value : kept) {
    source.bound.push_back(graph.constants.at(value).value());
    examples.push_back(source.bound.back());
  }
  const auto record = [&](const Values& values) {
    std::vector<onnx::Datum> all = inputs;
    for (std::size_t i = 0; i < given.size(); ++i) all[given[i]] = onnx::Datum(values[i], inputs[given[i]].element());
    std::map<int, onnx::Datum> constants;
    for (std::size_t i = 0; i < kept.size(); ++i)
      constants.emplace(kept[i], onnx::Datum(values[given.size() + i], graph.constants.at(kept[i]).element()));
    Values results;
    const onnx::RunContext context{.device = device, .file = path};
    for (const onnx::Datum& output : onnx::run_graph(graph, std::move(all), nullptr, context, &constants)) {
      require<ArgumentError>(output.is_tensor() && !output.is_string(), "compile: ", shown(path),
                             " has an output that is no tensor of numbers");
      results.push_back(output.value());
    }
    return results;
  };
  const auto remedy = [&](ErrorKind, std::string& out) {
    out +=
        "; a program without a heap can depend on the shapes of its inputs, not on what they hold: give such an "
        "input its value, for example --value 'shape=2,3'";
  };
  source.graph = [&] {
    try {
      return capture_graph(record, examples, {.random = false});
    } catch (const DeviceError&) {
      const ErrorContext scope(remedy);
      return capture_graph(record, examples, {.random = false});
    }
  }();
  for (const onnx::ValueInfo& output : model.outputs()) source.outputs.push_back(output.name);
  return source;
}

}  // namespace kiln::compile
