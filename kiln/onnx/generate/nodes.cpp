// Calls of apply(), for nodes that have no form; sub-graphs as bodies and branches.
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/generate/lowering.hpp"
#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx::cpp {
namespace {

std::string operator_name(const Node& node) { return node.domain.empty() ? node.op : text(node.domain, '.', node.op); }

}  // namespace

Code Lowering::inner_constant(const Graph& graph, int value, const Node& reader) {
  const std::string name = text(graph.name, '/', graph[value].name);
  return constant_code(graph.constants.at(value), {&graph, text(value)}, name, reader, true);
}

Code Lowering::operand_code(int value, const Body& body, const Node& reader) {
  if (value == kAbsent) return Code::verbatim("{}");
  if (&body.graph == &graph_) return operand(value, reader).code;
  if (body.graph.constants.count(value)) return inner_constant(body.graph, value, reader);
  const int own = body[value];
  if (own == kAbsent) return Code::call("onnx::Datum", {});
  // A captured value may be a constant of the main graph, or of a body around this one.
  if (own < static_cast<int>(graph_.values.size())) return operand(own, reader).code;
  const auto outer = inner_constants_.find(own);
  if (outer != inner_constants_.end()) return inner_constant(*outer->second.first, outer->second.second, reader);
  return Code::value(own);
}

Code::List Lowering::attributes_of(const Node& node, const Body& body) {
  using Type = AttributeProto::Type;
  // The tensor is named after the node, or after its first result if the node has no name.
  const auto name_of_tensor = [&](const std::string& attribute) {
    const bool named = !node.name.starts_with('#') || node.outputs.empty() || node.outputs[0] == kAbsent;
    return named ? text(node.name, '/', attribute) : program_[body[node.outputs[0]]].name;
  };
  Code::List all;
  for (const auto& [name, attribute] : node.attributes) {
    Code value;
    switch (attribute.type) {
      case Type::Float: value = Code::literal(attribute.f); break;
      case Type::Int: value = Code::literal(attribute.i); break;
      case Type::String: value = Code::literal(attribute.s); break;
      case Type::Floats: value = Code::verbatim("onnx::Floats" + listed(attribute.floats)); break;
      case Type::Ints: value = Code::verbatim("onnx::Ints" + listed(attribute.ints)); break;
      case Type::Strings: value = Code::verbatim("onnx::Strings" + listed(attribute.strings)); break;
      case Type::Tensor:
        value = constant_code(attribute.tensors.at(0), {&node, name}, name_of_tensor(name), node, false);
        break;
      case Type::Graph: value = body_code(*attribute.graphs.at(0), body); break;
      case Type::Type: continue;  // what a result is called, which it says itself
      default: wrong_.push_back(text(described(node), ": attribute '", shown(name), "'")); continue;
    }
    all.push_back(Code::list({Code::literal(name), std::move(value)}));
  }
  return all;
}

Statement Lowering::generic(const Node& node, const Body& body) {
  Statement statement;
  if (&body.graph == &graph_) statement.scope = scope_of(node);
  Code::List inputs, wanted;
  bool any = false;
  for (const int input : node.inputs) {
    inputs.push_back(operand_code(input, body, node));
    any = any || input != kAbsent;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    statement.results.push_back(body[node.outputs[i]]);
    statement.indices.push_back(static_cast<int>(i));
    wanted.push_back(Code::literal(static_cast<std::int64_t>(i)));
  }
  const bool first_alone = statement.indices == std::vector<int>{0};
  statement.form = first_alone ? Statement::Form::Applied : Statement::Form::Several;
  Code::List operands;
  if (!first_alone) operands.push_back(Code::list(std::move(wanted)));
  operands.insert(operands.end(),
                  {Code::literal(operator_name(node)), Code::literal(node.version), Code::list(inputs)});
  Code::List attributes = attributes_of(node, body);
  if (!attributes.empty() || !any) operands.push_back(Code::list(std::move(attributes)));
  if (!any) operands.push_back(Code::device());
  statement.code = Code::call(first_alone ? "onnx::apply" : "onnx::apply_for", std::move(operands));
  return statement;
}

// ---- sub-graphs ---------------------------------------------------------------------------------------------------
Lowering::Body Lowering::body_of(const Graph& inner, const Body& outer) {
  Body body{inner, {}};
  for (const ValueInfo& value : inner.values) body.values.push_back(add_variable(value.name));
  for (const auto& [value, constant] : inner.constants) inner_constants_[body[value]] = {&inner, value};
  for (const Graph::Capture& capture : inner.captures) body[capture.inner] = outer[capture.outer];
  return body;
}

std::vector<Line> Lowering::lines_of(const Body& body, Code::List& results) {
  std::vector<Line> lines;
  for (const Node& node : body.graph.nodes) {
    if (node.op == "If" && node.domain.empty()) {
      for (Line& line : branch(node, body).lines) lines.push_back(std::move(line));
      continue;
    }
    Statement statement = generic(node, body);
    if (statement.form == Statement::Form::Applied) {
      lines.push_back({"const onnx::Datum", {Code::value(statement.results[0])}, std::move(statement.code)});
      continue;
    }
    const Code all = Code::value(add_variable(node.op));
    lines.push_back({"const std::vector<onnx::Datum>", {all}, std::move(statement.code)});
    for (std::size_t i = 0; i < statement.results.size(); ++i)
      lines.push_back(
          {"const onnx::Datum", {Code::value(statement.results[i])}, Code::item(all, statement.indices[i])});
  }
  Node giver;
  giver.name = body.graph.name;
  for (const int output : body.graph.outputs) results.push_back(operand_code(output, body, giver));
  return lines;
}

Code Lowering::body_code(const Graph& inner, const Body& outer) {
  const Body body = body_of(inner, outer);
  Code::List types, results;
  std::vector<Line> lines = lines_of(body, results), all;
  for (const int output : inner.outputs) {
    const TypeProto* type = &inner[output].type;
    if (type->kind == TypeProto::Kind::Sequence && type->inner) type = type->inner.get();
    Ints sizes;
    if (type->shape)
      for (const DimProto& dim : *type->shape) sizes.push_back(dim.value.value_or(0));
    types.push_back(Code::list({Code::word(enumerator(type->element)), Code::verbatim(braces(sizes))}));
  }
  std::set<int> read;
  const auto note = [&](const Code& reference) {
    if (reference.kind == Code::Kind::Value) read.insert(reference.number);
  };
  for (const Line& line : lines) each_reference(line, note);
  for (const Code& result : results) each_reference(result, note);
  for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
    const int value = body[inner.inputs[i]];
    if (read.count(value))
      all.push_back({"const onnx::Datum", {Code::value(value)}, Code::item(Code::verbatim("in"), static_cast<int>(i))});
  }
  const char* const parameter = all.empty() ? "const std::vector<onnx::Datum>&" : "const std::vector<onnx::Datum>& in";
  std::move(lines.begin(), lines.end(), std::back_inserter(all));
  return Code::list({Code::literal(static_cast<std::int64_t>(inner.inputs.size())), Code::list(std::move(types)),
                     Code::lambda(parameter, std::move(all), std::move(results))},
                    "onnx::Body");
}

std::vector<Line> Lowering::branch_lines(const Node& node, const Body& body, const char* name) {
  const Attribute* const found = find_attribute(node, name);
  if (!found || found->graphs.empty()) {
    wrong_.push_back(text(described(node), ": there is no ", name));
    return {};
  }
  Code::List results;
  std::vector<Line> lines = lines_of(body_of(*found->graphs[0], body), results);
  for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i)
    if (node.outputs[i] != kAbsent) lines.push_back({"", {Code::value(body[node.outputs[i]])}, results[i]});
  return lines;
}

Statement Lowering::branch(const Node& node, const Body& body) {
  Statement statement;
  if (&body.graph == &graph_) statement.scope = scope_of(node);
  statement.form = Statement::Form::Lines;
  for (const int output : node.outputs) {
    if (output == kAbsent) continue;
    statement.results.push_back(body[output]);
    program_[body[output]].type = {};
    statement.lines.push_back({"onnx::Datum", {Code::value(body[output])}, Code::verbatim("")});
  }
  const Code condition = node.inputs.empty() ? Code::verbatim("{}") : operand_code(node.inputs[0], body, node);
  Line line{.code = Code::call("onnx::is_true", {condition}), .is_branch = true};
  line.yes = branch_lines(node, body, "then_branch");
  line.no = branch_lines(node, body, "else_branch");
  statement.lines.push_back(std::move(line));
  return statement;
}

}  // namespace kiln::onnx::cpp
