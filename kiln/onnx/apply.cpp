#include "kiln/onnx/apply.hpp"

#include <algorithm>

#include "kiln/onnx/attributes.hpp"
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {
namespace {

std::optional<Device> device_in(const Datum& datum) {
  switch (datum.kind()) {
    case Datum::Kind::Tensor: return datum.value().device();
    case Datum::Kind::Optional: return datum.held() ? device_in(*datum.held()) : std::optional<Device>();
    case Datum::Kind::Sequence:
      for (const Datum& item : datum.items())
        if (const std::optional<Device> found = device_in(item)) return found;
      return {};
    default: return {};
  }
}

TypeProto declared(const BodyOutput& output) {
  TypeProto type;
  type.kind = TypeProto::Kind::Tensor;
  type.element = output.element;
  type.shape.emplace();
  for (const std::int64_t size : output.shape) type.shape->push_back({size, {}});
  return type;
}

// Numbers of a type that is narrower than they are written in.
Datum constant(TensorData data, const Device& device, Element element) {
  const DType dtype = dtype_of(element);
  return {from_data(data.dtype() == dtype ? std::move(data) : data.to(dtype), device), element};
}

}  // namespace

Argument::Argument(std::string_view of, Body body) : Argument(of, PlainAttribute(AttributeProto::Type::Graph)) {
  auto graph = std::make_shared<Graph>();
  graph->name = of;
  for (std::size_t i = 0; i < body.inputs; ++i) graph->inputs.push_back(graph->add_value(text("input ", i)));
  for (const BodyOutput& output : body.outputs)
    graph->outputs.push_back(graph->add_value(text("output ", graph->outputs.size()), declared(output)));
  graph->code = std::move(body.run);
  value.graphs.push_back(std::move(graph));
}

std::vector<Datum> apply_for(std::initializer_list<int> wanted, std::string_view op, int version,
                             std::vector<Datum> inputs, Arguments attributes, std::optional<Device> device) {
  Node node;
  const std::size_t dot = op.rfind('.');
  node.op = dot == std::string_view::npos ? op : op.substr(dot + 1);
  if (dot != std::string_view::npos) node.domain = op.substr(0, dot);
  node.version = version;
  node.row = find_row(node.domain, node.op, version);
  require<ArgumentError>(node.row != nullptr, "there is no operator ", op, " of version ", version);
  for (const Argument& each : attributes) node.attributes.insert_or_assign(std::string(each.name), each.value);
  const std::string wrong = wrong_attribute(node);
  require<ArgumentError>(wrong.empty(), op, ": ", wrong);
  node.outputs.assign(static_cast<std::size_t>(std::max(wanted) + 1), kAbsent);
  for (const int output : wanted) node.outputs[static_cast<std::size_t>(output)] = output;
  for (const Datum& input : inputs)
    if (!device) device = device_in(input);
  static const Graph kNoGraph;
  static const Frame kNoFrame;
  const RunContext context{device.value_or(Device::cpu()), ""};
  Call call{node, kNoGraph, kNoFrame, context, std::move(inputs)};
  std::vector<Datum> results = node.row->run(call).list;
  require<ArgumentError>(results.size() >= node.outputs.size(), op, ": there is no output ", node.outputs.size() - 1);
  return results;
}

Applied apply(std::string_view op, int version, std::vector<Datum> inputs, Arguments attributes,
              std::optional<Device> device) {
  return {std::move(apply_for({0}, op, version, std::move(inputs), attributes, device).front())};
}

Datum ints(const Shape& shape, std::initializer_list<std::int64_t> numbers, const Device& device, Element element) {
  return constant(TensorData::of<std::int64_t>(shape, numbers), device, element);
}
Datum reals(const Shape& shape, std::initializer_list<double> numbers, const Device& device, Element element) {
  return constant(TensorData::of<double>(shape, numbers), device, element);
}
Datum strings(const Shape& shape, Strings words, const Device& device) {
  require<ShapeError>(numel(shape) == static_cast<std::int64_t>(words.size()), words.size(), " strings in ", shape);
  return Datum::of_strings(shape, std::move(words), device);
}

bool is_true(const Datum& condition) {
  require<ArgumentError>(condition.is_tensor() && condition.value().numel() == 1, "a condition is ", condition,
                         ", not one boolean");
  return condition.value().data().at(0) != 0;
}

Device device_of(std::initializer_list<Datum> data) {
  for (const Datum& datum : data)
    if (const std::optional<Device> found = device_in(datum)) return *found;
  return Device::cpu();
}

}  // namespace kiln::onnx
