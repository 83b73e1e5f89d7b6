#include <algorithm>
#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/attributes.hpp"
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

bool Call::wants(int i) const {
  return i < static_cast<int>(node.outputs.size()) && node.outputs[static_cast<std::size_t>(i)] != kAbsent;
}
const Datum& Call::datum(int i) const {
  check(has(i), "input ", i, " is missing");
  return in[static_cast<std::size_t>(i)];
}
Values Call::rest(int first) const {
  Values list;
  for (int i = first; i < inputs(); ++i) list.push_back((*this)[i]);
  return list;
}
Ints Call::ints(int i) const {
  if (!has(i)) return {};
  const Value& value = (*this)[i];
  check(is_integer(value.dtype()) || value.dtype() == DType::Bool, "input ", i, " is ", datum(i), ", not integers");
  return value.data().to_vector<std::int64_t>();
}
std::int64_t Call::integer(int i) const {
  const Ints list = ints(i);
  check(list.size() == 1, "input ", i, " has ", list.size(), " elements, not one");
  return list.front();
}
double Call::number(int i) const {
  check((*this)[i].numel() == 1, "input ", i, " is ", datum(i), ", not one number");
  return (*this)[i].data().at(0);
}

const Attribute* Call::attribute(std::string_view name, AttributeProto::Type type) const {
  const Attribute* const found = find_attribute(node, name);
  if (found)
    check(found->type == type, "attribute '", name, "' is ", type_name(found->type), ", not ", type_name(type));
  return found;
}
std::int64_t Call::i(std::string_view name, std::int64_t otherwise) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Int);
  return found ? found->i : otherwise;
}
double Call::f(std::string_view name, double otherwise) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Float);
  return found ? static_cast<double>(found->f) : otherwise;
}
std::string Call::s(std::string_view name, std::string_view otherwise) const {
  const Attribute* found = attribute(name, AttributeProto::Type::String);
  return found ? found->s : std::string(otherwise);
}
std::string Call::word(std::string_view name, std::string_view otherwise,
                       std::initializer_list<std::string_view> words) const {
  const std::string found = s(name, otherwise);
  check(std::ranges::find(words, found) != words.end(), name, " '", shown(found), "' is unknown");
  return found;
}
Ints Call::ints(std::string_view name) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Ints);
  return found ? found->ints : Ints();
}
std::vector<float> Call::floats(std::string_view name) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Floats);
  return found ? found->floats : std::vector<float>();
}
Strings Call::strings(std::string_view name) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Strings);
  return found ? found->strings : Strings();
}
const Datum* Call::tensor(std::string_view name) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Tensor);
  return found ? &found->tensors.at(0) : nullptr;
}
const Graph& Call::subgraph(std::string_view name) const {
  const Attribute* found = attribute(name, AttributeProto::Type::Graph);
  check(found != nullptr, "attribute '", name, "' is missing");
  return *found->graphs.at(0);
}
Element Call::element(std::string_view name, Element otherwise) const {
  return static_cast<Element>(i(name, static_cast<std::int64_t>(otherwise)));
}
void Call::count_trips(std::int64_t count) const {
  check(!context.describes || count <= context.trips, "the model runs more steps than a description can follow");
  check(
      count <= context.trips,
      "the loops of this run have made as many trips as LoadOptions::most_trips allows; does the condition ever become "
      "false?");
  context.trips -= std::max<std::int64_t>(count, 0);
}
std::vector<Datum> Call::run(const Graph& subgraph, std::vector<Datum> inputs) const {
  return run_graph(subgraph, std::move(inputs), &frame, context);
}

void run_node(const Node& node, const Graph& graph, Frame& frame, const RunContext& context) {
  const auto describe = [&](ErrorKind, std::string& out) {
    out += text(" (", shown(context.file), ": ", described(node), ")");
  };
  const ErrorContext scope(describe);
  const CalledAs unnamed(nullptr);
  require<ArgumentError>(!context.stop || !context.stop(), "the run was stopped");
  if (context.describes)
    require<ArgumentError>(context.trips-- > 0, "the model runs more steps than a description can follow");
  std::vector<Datum> in;
  in.reserve(node.inputs.size());
  for (const int input : node.inputs) in.push_back(input == kAbsent ? Datum() : frame[input]);
  std::vector<Datum> out;
  if (node.function) {
    in.resize(node.function->inputs.size());
    out = run_graph(*node.function, std::move(in), nullptr, context);
  } else {
    if (context.describes)
      for (const Datum& each : in)
        require<ArgumentError>(!each.is_string(), node.op, " works on strings, which a description does not compute");
    Call call{node, graph, frame, context, std::move(in)};
    out = node.row->run(call).list;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    require<ArgumentError>(i < out.size(), node.op, ": there is no output ", i);
    frame[node.outputs[i]] = std::move(out[i]);
  }
}

std::vector<Datum> run_graph(const Graph& graph, std::vector<Datum> inputs, const Frame* outer,
                             const RunContext& context, const std::map<int, Datum>* given) {
  require<ArgumentError>(inputs.size() == graph.inputs.size(), "the graph '", shown(graph.name), "' takes ",
                         graph.inputs.size(), " inputs, not ", inputs.size());
  if (graph.code) return graph.code(std::move(inputs));
  if (context.ran) context.ran->insert(&graph);
  Frame frame(graph);
  for (const auto& [value, constant] : graph.constants) frame[value] = constant;
  if (given)
    for (const auto& [value, datum] : *given) frame[value] = datum;
  if (outer)
    for (const auto& [from, to] : graph.captures) frame[to] = (*outer)[from];
  for (std::size_t i = 0; i < inputs.size(); ++i) frame[graph.inputs[i]] = std::move(inputs[i]);
  for (const Node& node : graph.nodes) {
    run_node(node, graph, frame, context);
    for (const int value : node.last_uses) frame[value] = {};
  }
  std::vector<Datum> out;
  for (const int output : graph.outputs) out.push_back(output == kAbsent ? Datum() : frame[output]);
  return out;
}

Dims to_dims(const Ints& list) { return Dims(list.begin(), list.end()); }
Shape to_shape(const Ints& list) { return Shape(list.begin(), list.end()); }
Ints to_ints(const Shape& shape) { return Ints(shape.begin(), shape.end()); }
Value from_ints(const Ints& list, const Device& device) {
  return from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, list), device);
}

}  // namespace kiln::onnx
