#include "kiln/onnx/summary.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "kiln/backend/capture/body.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/call.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

void count(const TensorProto& tensor, Summary& summary) {
  std::int64_t elements = 1, bits = 0;
  for (const std::int64_t size : tensor.dims)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) elements = 0;
  if (__builtin_mul_overflow(elements, bits_of(tensor.element), &bits)) elements = bits = 0;
  // A tensor that a function has is read where the function is called, if it is.
  if (__builtin_add_overflow(summary.parameters, elements, &summary.parameters)) summary.parameters = 0;
  if (__builtin_add_overflow(summary.parameter_bytes, bits / 8, &summary.parameter_bytes)) summary.parameter_bytes = 0;
}

void count(const GraphProto& graph, Summary& summary) {
  for (const NodeProto& node : graph.node) {
    ++summary.nodes;
    const std::string_view domain = domain_of(node.domain);
    ++summary.operators[domain.empty() ? node.op_type : text(domain, '.', node.op_type)];
    for (const AttributeProto& attribute : node.attribute) {
      for (const TensorProto& tensor : attribute.tensors)
        count(tensor, summary);  // some files keep weights in Constants
      for (const auto& inner : attribute.graphs) count(*inner, summary);
    }
  }
  for (const TensorProto& tensor : graph.initializer) count(tensor, summary);
}

// Throws ArgumentError where the type says no shape of numbers.
Shape example_shape(const ValueInfo& input, const Sizes& sizes) {
  const TypeProto& type = input.type;
  require<ArgumentError>(type.kind == TypeProto::Kind::Tensor && type.shape && is_known(type.element) &&
                             type.element != Element::String && !is_narrow(type.element),
                         "input '", shown(input.name), "' must be given: its type has no shape of numbers");
  Shape shape;
  for (const DimProto& dim : *type.shape) {
    const auto given = sizes.find(dim.param.empty() ? text(input.name, '[', shape.size(), ']') : dim.param);
    shape.push_back(dim.value && *dim.value > 0 ? *dim.value : given == sizes.end() ? 1 : given->second);
  }
  return shape;
}

constexpr std::int64_t kMostSteps = 1 << 16;  // the most iterations of loops, so that a description does not take long

// The cost of the program that the model runs, which is recorded and not computed.
double flops_of(const Model& model, const std::string& file, const Sizes& sizes) {
  Values examples;  // one number expanded to the shape, which takes no memory
  for (const ValueInfo& input : model.inputs()) {
    const Value one = full({}, 0, model.device(), dtype_of(input.type.element));
    examples.push_back(expand(one, example_shape(input, sizes)));
  }
  const kiln::Graph program = capture_graph(
      [&](const Values& in) {
        Values results;
        const RunContext context{model.device().inner(), file, kMostSteps, nullptr, nullptr, true};
        for (const Datum& out : run_graph(model.graph(), std::vector<Datum>(in.begin(), in.end()), nullptr, context))
          if (out.is_tensor()) results.push_back(out.value());
        return results;
      },
      examples);
  const GraphBody& body = program.body();
  Values values;
  const auto add = [&](const Desc& desc) { values.emplace_back(make_ref<kiln::Node>(desc, body.device)); };
  for (const Desc& input : body.inputs) add(input);
  for (const Value& constant : body.constants) add({constant.shape(), constant.dtype()});
  double total = 0;
  for (const GraphStep& step : body.steps) {
    Values in, out;
    for (const auto& operand : step.in)
      in.push_back(operand.id >= 0                       ? values[static_cast<std::size_t>(operand.id)]
                   : operand.id == GraphOperand::kNumber ? Value(operand.number)
                                                         : Value());
    for (const Desc& desc : step.results) add(desc), out.push_back(values.back());
    total += op::visit(step.op, [&](const auto& op) { return kiln::flops_of(op, in, out); });
  }
  return total;
}

// The limit of the integers of an input: the number of rows of the smallest table that they index.
std::int64_t limit_of(const Graph& graph, int input) {
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  for (const Node& node : graph.nodes) {
    if (node.op != "Gather" || node.inputs.size() < 2 || node.inputs[1] != input) continue;
    const auto table = graph.constants.find(node.inputs[0]);
    if (table == graph.constants.end() || table->second.value().rank() == 0) continue;
    const int dim = wrap_dim("Gather", int_attribute(node, "axis", 0), table->second.value().rank());
    limit = std::min(limit, table->second.value().dim(dim));
  }
  return limit == std::numeric_limits<std::int64_t>::max() ? 2 : std::max<std::int64_t>(limit, 1);
}

}  // namespace

std::vector<Datum> example_inputs(const Model& model, const Sizes& sizes) {
  std::vector<Datum> list;
  const Graph& graph = model.graph();
  for (const int input : graph.inputs)
    list.emplace_back(example_input(graph[input], model.device(), sizes, limit_of(graph, input)));
  return list;
}

Value example_input(const ValueInfo& input, const Device& device, const Sizes& sizes, std::int64_t limit) {
  const Shape shape = example_shape(input, sizes);
  const DType dtype = dtype_of(input.type.element);
  if (is_float(dtype)) return normal(shape, 0, 1, device, dtype, Key(1));
  if (dtype == DType::Bool) return ones(shape, device, dtype);
  return cast(randint(shape, 0, limit, device, DType::I64, Key(1)), dtype);
}

Summary summarize(const std::string& path, const Device& device, const Sizes& sizes) try {
  const FileBytes file = map_file(path);
  const ModelProto proto = parse_model(file.bytes, path);
  const std::string directory = std::filesystem::path(path).parent_path().string();
  Summary summary;
  summary.producer = proto.producer_name + (proto.producer_version.empty() ? "" : " " + proto.producer_version);
  summary.operator_sets = proto.opset_import;
  count(proto.graph, summary);
  for (const FunctionProto& function : proto.functions) {
    GraphProto body;
    body.node = function.node;
    count(body, summary);
  }
  summary.unsupported = unsupported_operators(proto, {.file = path, .directory = directory}, device);
  const auto has_default = [&](const std::string& name) {
    for (const TensorProto& tensor : proto.graph.initializer)
      if (tensor.name == name) return true;
    return false;
  };
  for (const ValueInfoProto& input : proto.graph.input)
    if (!has_default(input.name)) summary.inputs.push_back({input.name, input.type});
  for (const ValueInfoProto& output : proto.graph.output) summary.outputs.push_back({output.name, output.type});
  if (!summary.unsupported.empty()) {
    summary.why_no_flops = "it cannot be run";
    return summary;
  }
  try {
    summary.flops = flops_of(load(file.bytes, path, directory, device, {.simplify = false}), path, sizes);
  } catch (const ShapeError&) {
    summary.why_no_flops =
        sizes.empty() ? "sizes of 1 do not fit where the file leaves them open" : "the sizes do not fit";
  } catch (const DeviceError&) {
    summary.why_no_flops = "they depend on the elements of inputs";
  } catch (const ArgumentError& error) { summary.why_no_flops = error.message(); }
  return summary;
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln::onnx
