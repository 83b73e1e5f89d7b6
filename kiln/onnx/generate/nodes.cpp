// Nodes for which there is no shorter way, as calls of apply(); sub-graphs as bodies and branches.
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/generate/lowering.hpp"
#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx::cpp {
namespace {

std::string operator_name(const Node& node) { return node.domain.empty() ? node.op : text(node.domain, '.', node.op); }

}  // namespace

std::string Lowering::inner_constant(const Graph& graph, int value, const Node& reader) {
  const std::string name = text(graph.name, '/', graph.values[static_cast<std::size_t>(value)].name);
  return constant_text(graph.constants.at(value), {&graph, text(value)}, name, reader, true);
}

std::string Lowering::operand_text(int value, const Graph& graph, const std::vector<int>& places, const Node& reader) {
  if (value == kAbsent) return "{}";
  if (&graph == &graph_) return operand(value, reader).text;
  if (graph.constants.count(value)) return inner_constant(graph, value, reader);
  const int place = places[static_cast<std::size_t>(value)];
  if (place == kAbsent) return "onnx::Datum()";
  // What is captured may be a constant of the main graph, or of a body around this one.
  if (place < static_cast<int>(graph_.values.size())) return operand(place, reader).text;
  const auto outer = inner_constants_.find(place);
  if (outer != inner_constants_.end()) return inner_constant(*outer->second.first, outer->second.second, reader);
  return value_mark(place);
}

std::string Lowering::attributes_text(const Node& node, const std::vector<int>& places) {
  using Type = AttributeProto::Type;
  // After the node, or, where that has no name, after what it makes.
  const auto called = [&](const std::string& attribute) {
    const bool named = !node.name.starts_with('#') || node.outputs.empty() || node.outputs[0] == kAbsent;
    if (named) return text(node.name, '/', attribute);
    return program_.values[static_cast<std::size_t>(places[static_cast<std::size_t>(node.outputs[0])])].name;
  };
  std::string out;
  for (const auto& [name, attribute] : node.attributes) {
    std::string value;
    switch (attribute.type) {
      case Type::Float: value = literal(attribute.f); break;
      case Type::Int: value = literal(attribute.i); break;
      case Type::String: value = literal(attribute.s); break;
      case Type::Floats: value = "onnx::Floats" + listed(attribute.floats); break;
      case Type::Ints: value = "onnx::Ints" + listed(attribute.ints); break;
      case Type::Strings: value = "onnx::Strings" + listed(attribute.strings); break;
      case Type::Tensor:
        value = constant_text(attribute.tensors.at(0), {&node, name}, called(name), node, false);
        break;
      case Type::Graph: value = body_text(*attribute.graphs.at(0), places); break;
      case Type::Type: continue;  // what a result is called, which it says itself
      default: wrong_.push_back(text(described(node), ": attribute '", shown(name), "'")); continue;
    }
    out += text(out.empty() ? "{" : ", {", literal(name), ", ", value, '}');
  }
  return out;
}

Statement Lowering::generic(const Node& node, const Graph& graph, const std::vector<int>& places) {
  Statement statement;
  if (&graph == &graph_) statement.scope = scope_of(node);
  std::string inputs, wanted;
  bool any = false;
  for (const int input : node.inputs) {
    inputs += (inputs.empty() ? "" : ", ") + operand_text(input, graph, places, node);
    any = any || input != kAbsent;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    statement.results.push_back(places[static_cast<std::size_t>(node.outputs[i])]);
    statement.places.push_back(static_cast<int>(i));
    wanted += text(wanted.empty() ? "" : ", ", i);
  }
  const bool first_alone = wanted == "0";
  const std::string attributes = attributes_text(node, places);
  statement.form = first_alone ? Statement::Form::Applied : Statement::Form::Several;
  statement.text = text("onnx::apply", first_alone ? "(" : "_for({" + wanted + "}, ", literal(operator_name(node)),
                        ", ", node.version, ", {", inputs, '}');
  if (!attributes.empty() || !any) statement.text += text(", {", attributes, '}');
  if (!any) statement.text += ", device";
  statement.text += ')';
  return statement;
}

// ---- sub-graphs ---------------------------------------------------------------------------------------------------
std::vector<int> Lowering::places_of(const Graph& body, const std::vector<int>& outer) {
  std::vector<int> places(body.values.size());
  for (std::size_t value = 0; value < places.size(); ++value) {
    places[value] = static_cast<int>(program_.values.size());
    program_.values.push_back({body.values[value].name, {}, {}, {}});
  }
  for (const auto& [value, constant] : body.constants)
    inner_constants_[places[static_cast<std::size_t>(value)]] = {&body, value};
  for (const Graph::Capture& capture : body.captures)
    places[static_cast<std::size_t>(capture.inner)] = outer[static_cast<std::size_t>(capture.outer)];
  return places;
}

std::string Lowering::lines_of(const Graph& body, const std::vector<int>& places, std::vector<std::string>& results) {
  std::string lines;
  for (const Node& node : body.nodes) {
    if (node.op == "If" && node.domain.empty()) {
      lines += branch(node, body, places).text;
      continue;
    }
    const Statement statement = generic(node, body, places);
    if (statement.form == Statement::Form::Applied) {
      lines += text("const onnx::Datum ", value_mark(statement.results[0]), " = ", statement.text, ";\n");
      continue;
    }
    const int all = static_cast<int>(program_.values.size());
    program_.values.push_back({node.op, {}, {}, {}});
    lines += text("const std::vector<onnx::Datum> ", value_mark(all), " = ", statement.text, ";\n");
    for (std::size_t i = 0; i < statement.results.size(); ++i)
      lines += text("const onnx::Datum ", value_mark(statement.results[i]), " = ", value_mark(all), '[',
                    statement.places[i], "];\n");
  }
  Node giver;
  giver.name = body.name;
  for (const int output : body.outputs) results.push_back(operand_text(output, body, places, giver));
  return lines;
}

std::string Lowering::body_text(const Graph& body, const std::vector<int>& outer) {
  const std::vector<int> places = places_of(body, outer);
  std::vector<std::string> results;
  const std::string lines = lines_of(body, places, results);
  std::string types, given, inputs;
  for (const int output : body.outputs) {
    const TypeProto* type = &body.values[static_cast<std::size_t>(output)].type;
    if (type->kind == TypeProto::Kind::Sequence && type->inner) type = type->inner.get();
    Ints sizes;
    if (type->shape)
      for (const DimProto& dim : *type->shape) sizes.push_back(dim.value.value_or(0));
    types += text(types.empty() ? "" : ", ", '{', element_text(type->element), ", ", braces(sizes), '}');
  }
  for (const std::string& result : results) given += text(given.empty() ? "" : ", ", result);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const std::string mark = value_mark(places[static_cast<std::size_t>(body.inputs[i])]);
    if ((lines + given).find(mark) != std::string::npos)
      inputs += text("const onnx::Datum ", mark, " = in[", i, "];\n");
  }
  const std::string argument =
      inputs.empty() ? "const std::vector<onnx::Datum>&" : "const std::vector<onnx::Datum>& in";
  return text("onnx::Body{", body.inputs.size(), ", {", types, "}, [&](", argument, ") -> std::vector<onnx::Datum> {\n",
              indented(text(inputs, lines, "return {", given, "};\n"), 2), "}}");
}

Statement Lowering::branch(const Node& node, const Graph& graph, const std::vector<int>& places) {
  Statement statement;
  if (&graph == &graph_) statement.scope = scope_of(node);
  statement.form = Statement::Form::Lines;
  std::string declared;
  for (const int output : node.outputs) {
    if (output == kAbsent) continue;
    const int place = places[static_cast<std::size_t>(output)];
    statement.results.push_back(place);
    program_.values[static_cast<std::size_t>(place)].type = {};
    declared += text("onnx::Datum ", value_mark(place), ";\n");
  }
  const auto part = [&](const char* name) {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end() || found->second.graphs.empty()) {
      wrong_.push_back(text(described(node), ": there is no ", name));
      return std::string();
    }
    const Graph& body = *found->second.graphs[0];
    std::vector<std::string> results;
    std::string lines = lines_of(body, places_of(body, places), results);
    for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i)
      if (node.outputs[i] != kAbsent)
        lines += text(value_mark(places[static_cast<std::size_t>(node.outputs[i])]), " = ", results[i], ";\n");
    return indented(lines, 2);
  };
  const std::string condition = node.inputs.empty() ? "{}" : operand_text(node.inputs[0], graph, places, node);
  const std::string then_part = part("then_branch"), else_part = part("else_branch");
  statement.text = text(declared, "if (onnx::is_true(", condition, ")) {\n", then_part, "} else {\n", else_part, "}\n");
  return statement;
}

}  // namespace kiln::onnx::cpp
