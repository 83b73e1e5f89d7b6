#include "kiln/onnx/summary.hpp"

#include <filesystem>

#include "kiln/backend/capture/body.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {
namespace {

void count(const GraphProto& graph, Summary& summary) {
  for (const NodeProto& node : graph.node) {
    ++summary.nodes;
    const std::string_view domain = domain_of(node.domain);
    ++summary.operators[domain.empty() ? node.op_type : text(domain, '.', node.op_type)];
    for (const AttributeProto& attribute : node.attribute)
      for (const auto& inner : attribute.graphs) count(*inner, summary);
  }
  for (const TensorProto& tensor : graph.initializer) {
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.dims)
      if (__builtin_mul_overflow(elements, size, &elements)) elements = 0;
    summary.parameters += elements;
    summary.parameter_bytes += elements * bits_of(tensor.element) / 8;
  }
}

// What the program that the model runs would cost, recorded and not computed.
double flops_of(const Model& model) {
  Values examples;
  for (const ValueInfo& input : model.inputs()) examples.push_back(example_input(input, model.device()));
  const kiln::Graph program = capture_graph(
      [&](const Values& in) {
        Values results;
        for (const Datum& out : model.run(std::vector<Datum>(in.begin(), in.end())))
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
  for (const GraphBody::Step& step : body.steps) {
    Values in, out;
    for (const auto& operand : step.in)
      in.push_back(operand.id >= 0                             ? values[static_cast<std::size_t>(operand.id)]
                   : operand.id == GraphBody::Operand::kNumber ? Value(operand.number)
                                                               : Value());
    for (const Desc& desc : step.results) add(desc), out.push_back(values.back());
    total += op::visit(step.op, [&](const auto& op) { return kiln::flops_of(op, in, out); });
  }
  return total;
}

}  // namespace

Value example_input(const ValueInfo& input, const Device& device, const std::map<std::string, std::int64_t>& sizes) {
  const TypeProto& type = input.type;
  require<ArgumentError>(type.kind == TypeProto::Kind::Tensor && type.shape && is_known(type.element) &&
                             type.element != Element::String && !is_narrow(type.element),
                         "input '", shown(input.name), "' must be given: its type says no shape of numbers");
  Shape shape;
  for (const DimProto& dim : *type.shape) {
    const auto given = sizes.find(dim.param);
    shape.push_back(dim.value && *dim.value > 0 ? *dim.value : given == sizes.end() ? 1 : given->second);
  }
  const DType dtype = dtype_of(type.element);
  if (is_float(dtype)) return normal(shape, 0, 1, device, dtype, Key(1));
  return dtype == DType::Bool ? ones(shape, device, dtype) : zeros(shape, device, dtype);
}

Summary summarize(const std::string& path, const Device& device) {
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
    summary.flops = flops_of(load(file.bytes, path, directory, device));
  } catch (const ShapeError&) {
    summary.why_no_flops = "sizes of 1 do not fit where the file leaves them open";
  } catch (const DeviceError&) {
    summary.why_no_flops = "they depend on the elements of inputs";
  } catch (const ArgumentError& error) { summary.why_no_flops = error.message(); }
  return summary;
}

}  // namespace kiln::onnx
