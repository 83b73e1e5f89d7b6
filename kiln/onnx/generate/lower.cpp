// Nodes to statements. What neither forms.cpp nor layers.cpp has a shorter way for is a call of apply(), by name.
#include <algorithm>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/generate/lowering.hpp"
#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx::cpp {
namespace {

constexpr std::int64_t kMostWritten = 16;  // elements of a constant that stands in the text

std::string element_text(Element element) {
  static constexpr const char* kNames[] = {"Undefined",      "Float",    "Uint8",        "Int8",           "Uint16",
                                           "Int16",          "Int32",    "Int64",        "String",         "Bool",
                                           "Float16",        "Double",   "Uint32",       "Uint64",         "Complex64",
                                           "Complex128",     "Bfloat16", "Float8E4M3FN", "Float8E4M3FNUZ", "Float8E5M2",
                                           "Float8E5M2FNUZ", "Uint4",    "Int4",         "Float4E2M1",     "Float8E8M0",
                                           "Uint2",          "Int2",     "Float6E2M3",   "Float6E3M2"};
  const auto number = static_cast<std::size_t>(element);
  return text("onnx::Element::", number < std::size(kNames) ? kNames[number] : "Undefined");
}

template <class List>
std::string listed(const List& list) {
  std::string out = "{";
  for (const auto& each : list) out += text(out.size() > 1 ? ", " : "", literal(each));
  return out + '}';
}

std::string operator_name(const Node& node) { return node.domain.empty() ? node.op : text(node.domain, '.', node.op); }

// "onnx::MatMul_12" -> "mat_mul_12"
std::string_view without_prefix(std::string_view name) { return name.starts_with("onnx::") ? name.substr(6) : name; }

Path split(std::string_view name, char at) {
  Path parts(1);
  for (const char c : name) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  std::erase(parts, "");
  return parts;
}

std::string dtype_text(DType dtype) {
  static constexpr std::pair<DType, const char*> kNames[] = {
      {DType::F64, "F64"}, {DType::F32, "F32"}, {DType::F16, "F16"},  {DType::BF16, "BF16"}, {DType::I64, "I64"},
      {DType::I32, "I32"}, {DType::I16, "I16"}, {DType::I8, "I8"},    {DType::U64, "U64"},   {DType::U32, "U32"},
      {DType::U16, "U16"}, {DType::U8, "U8"},   {DType::Bool, "Bool"}};
  for (const auto& [known, name] : kNames)
    if (known == dtype) return text("DType::", name);
  return "";
}

}  // namespace

std::string name_of(const Type& type) {
  if (!type.is_tensor()) return "onnx::Datum";
  const char* const kind = type.kind == kiln::Kind::Int ? ", Int" : type.kind == kiln::Kind::Bool ? ", Bool" : "";
  return text("Tensor<", type.rank, kind, ">");
}

Lowering::Lowering(const Graph& graph, const Observed& observed, std::string file)
    : graph_(graph), observed_(observed), file_(std::move(file)) {
  shapes_ = infer_shapes(graph);
  for (std::size_t value = 0; value < graph.values.size(); ++value) {
    const Observed::Seen& seen = observed.values[value];
    Variable variable{graph.values[value].name, {}, seen.element, shapes_.of[value]};
    const bool plain = seen.kind == Datum::Kind::Tensor && seen.element != Element::String && !is_narrow(seen.element);
    if (plain && seen.sure && seen.rank <= kMaxRank) variable.type = {seen.rank, kind_of(dtype_of(seen.element))};
    program_.values.push_back(std::move(variable));
  }
  readers_.resize(graph.values.size());
  counts_.resize(graph.values.size());
  const auto read = [&](int value, const Node* reader) {
    if (value == kAbsent) return;
    ++counts_[static_cast<std::size_t>(value)];
    readers_[static_cast<std::size_t>(value)] = reader;
  };
  for (const Node& node : graph.nodes) {
    for (const int input : node.inputs) read(input, &node);
    for (const auto& [name, attribute] : node.attributes)
      for (const auto& inner : attribute.graphs)
        for (const auto& capture : inner->captures) read(capture.outer, nullptr), read(capture.outer, nullptr);
  }
  for (const int output : graph.outputs) read(output, nullptr);
  for (std::size_t value = 0; value < counts_.size(); ++value)
    if (counts_[value] != 1) readers_[value] = nullptr;
}

const Node* Lowering::only_reader(int value) const {
  return value == kAbsent ? nullptr : readers_[static_cast<std::size_t>(value)];
}

const PartialShape* Lowering::numbers(int value) const {
  const auto found = shapes_.numbers.find(value);
  return found == shapes_.numbers.end() ? nullptr : &found->second;
}

const Node* Lowering::maker(int value) const {
  for (const Node& node : graph_.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  return nullptr;
}
int Lowering::add_variable(const std::string& name) {
  program_.values.push_back({name, {}, {}, {}});
  return static_cast<int>(program_.values.size()) - 1;
}

// Exporters write the modules around a node into its name: /layer1/layer1.0/conv1/Conv, where a part may begin with the
// one before it.
Path Lowering::scope_of(const Node& node) {
  const Path parts = split(node.name, '/');
  Path scope;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (i > 0 && part.size() > parts[i - 1].size() && part.starts_with(parts[i - 1]) &&
        part[parts[i - 1].size()] == '.')
      part.remove_prefix(parts[i - 1].size() + 1);
    for (std::string& each : split(part, '.')) scope.push_back(std::move(each));
  }
  return scope;
}

// ---- constants ----------------------------------------------------------------------------------------------------
std::string Lowering::constant_text(const Datum& constant, const std::string& name, const Node& reader, bool trained) {
  if (!constant.is_tensor()) {
    if (constant.kind() == Datum::Kind::Sequence) {
      std::string items;
      for (const Datum& item : constant.items())
        items += (items.empty() ? "" : ", ") + constant_text(item, text(name, items.size()), reader, false);
      return text("onnx::Datum::sequence({", items, "}, ", element_text(constant.element()), ')');
    }
    if (constant.kind() == Datum::Kind::Optional)
      return constant.held() ? text("onnx::Datum::optional(", constant_text(*constant.held(), name, reader, false), ')')
                             : "onnx::Datum::empty_optional()";
    wrong_.push_back(text(described(reader), ": reads a constant that is ", constant));
    return "{}";
  }
  const Value& value = constant.value();
  const Element element = constant.element();
  const std::string shape = braces(to_ints(value.shape()));
  if (constant.is_string()) return text("onnx::strings(", shape, ", ", listed(constant.strings()), ", device)");
  const bool numbers = reader.op == "Resize" || reader.op == "Upsample";
  trained = trained && is_float(value.dtype()) && !is_narrow(element) && value.rank() > 0 && !numbers;
  if (!trained && value.numel() <= kMostWritten && value.dtype() != DType::U64) {
    const bool real = is_float(value.dtype());
    const std::string type = element == (real ? Element::Float : Element::Int64) ? "" : ", " + element_text(element);
    return text(real ? "onnx::reals(" : "onnx::ints(", shape, ", ",
                real ? (value.dtype() == DType::F64 ? listed(value.data().to_vector<double>())
                                                    : listed(value.data().to_vector<float>()))
                     : listed(value.data().to_vector<std::int64_t>()),
                ", device", type, ')');
  }
  auto found = constant_layers_.find(name);
  if (found == constant_layers_.end()) {
    Path path = split(without_prefix(name), name.find('/') == std::string::npos ? '.' : '/');
    if (path.size() < 2) {
      const std::string own = path.empty() ? "constant" : path.back();
      path = scope_of(reader);
      path.push_back(own);
    }
    const Type type{value.rank(), kind_of(value.dtype())};
    Layer layer{std::move(path), {}, {}, {}, {{"", value}}};
    layer.type = text(trained ? "nn::Param<" : "nn::Buffer<", name_of(type).substr(7));
    layer.options = {{"shape", "Shape", shape, ""}, {"dtype", "DType", dtype_text(value.dtype()), "DType::F32"}};
    program_.layers.push_back(std::move(layer));
    found = constant_layers_.emplace(name, static_cast<int>(program_.layers.size()) - 1).first;
  }
  const std::string field = layer_mark(found->second);
  if (trained) return field;
  return is_narrow(element) ? text("onnx::Datum(", field, ".value(), ", element_text(element), ')') : field + ".get()";
}

Operand Lowering::operand(int value, const Node& reader) {
  if (value == kAbsent) return {"{}", {}, {}, nullptr, {}};
  Operand operand;
  const auto& variable = program_.values[static_cast<std::size_t>(value)];
  operand.type = variable.type;
  operand.element = variable.element;
  operand.shape = variable.shape;
  const auto constant = graph_.constants.find(value);
  if (constant == graph_.constants.end()) {
    operand.text = value_mark(value);
    return operand;
  }
  operand.constant = &constant->second;
  operand.text = constant_text(constant->second, variable.name, reader, true);
  if (operand.text.find(kLayerMark) == std::string::npos || is_narrow(operand.element)) operand.type = {};
  return operand;
}

int Lowering::add_layer(Layer layer, const Node& node, int weight, std::string_view otherwise) {
  const std::string& name = graph_.values[static_cast<std::size_t>(weight)].name;
  layer.path = scope_of(node);
  if (layer.path.empty()) {
    layer.path = split(name, '.');
    if (layer.path.size() > 1) layer.path.pop_back();
    else layer.path = {std::string(otherwise)};
  }
  std::string key = layer.type;
  for (const std::string& part : layer.path) key += text('\n', part);
  for (const Option& option : layer.options) key += text('\n', option.value);
  for (const int input : node.inputs)
    if (input != kAbsent && graph_.constants.count(input)) key += text('\n', input);
  const auto [found, fresh] = layers_.emplace(key, static_cast<int>(program_.layers.size()));
  if (fresh) {
    layer.fallback = otherwise;
    program_.layers.push_back(std::move(layer));
  }
  return found->second;
}

// ---- nodes --------------------------------------------------------------------------------------------------------
std::string Lowering::operand_text(int value, const Graph& graph, const std::vector<int>& places, const Node& reader) {
  if (value == kAbsent) return "{}";
  if (&graph == &graph_) return operand(value, reader).text;
  const auto constant = graph.constants.find(value);
  if (constant != graph.constants.end())
    return constant_text(constant->second, text(graph.name, '/', graph.values[static_cast<std::size_t>(value)].name),
                         reader, true);
  const int place = places[static_cast<std::size_t>(value)];
  if (place == kAbsent) return "onnx::Datum()";
  // What is captured may be a constant of the main graph.
  if (place < static_cast<int>(graph_.values.size())) return operand(place, reader).text;
  return value_mark(place);
}

std::string Lowering::attributes_text(const Node& node, const std::vector<int>& places) {
  using Type = AttributeProto::Type;
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
      case Type::Tensor: value = constant_text(attribute.tensors.at(0), text(node.name, '/', name), node, false); break;
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

// ---- the whole ----------------------------------------------------------------------------------------------------
// What a graph of a program cannot know of itself.
void Lowering::check(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == "Gradient") wrong_.push_back(described(node));
    for (const auto& [name, attribute] : node.attributes)
      for (const auto& inner : attribute.graphs) check(*inner);
  }
}

// A layer has its path to itself: where others stand at it or below it, it is named by what it is, too.
void Lowering::settle_paths() {
  std::map<Path, int> count;
  std::set<Path> around;
  for (const Layer& layer : program_.layers) {
    ++count[layer.path];
    for (std::size_t i = 1; i < layer.path.size(); ++i)
      around.insert(Path(layer.path.begin(), layer.path.begin() + static_cast<std::ptrdiff_t>(i)));
  }
  std::set<Path> taken;
  for (std::size_t i = 0; i < program_.layers.size(); ++i) {
    Path& path = program_.layers[i].path;
    const std::string& own = program_.layers[i].fallback;
    if ((count[path] > 1 || around.count(path)) && path.back() != own) path.push_back(own);
    const std::string last = path.back();
    for (int n = 2; around.count(path) || !taken.insert(path).second; ++n) path.back() = text(last, '_', n);
  }
}

void Lowering::drop_unread() {
  std::vector<bool> read(program_.values.size()), used(program_.layers.size());
  const auto mark = [&](const std::string& text) {
    for (std::size_t at = 0; (at = text.find_first_of("\x01\x02", at)) != std::string::npos; ++at)
      (text[at] == kValueMark ? read : used)[static_cast<std::size_t>(std::atoi(text.c_str() + at + 1))] = true;
  };
  for (const std::string& result : program_.results) mark(result);
  std::vector<Statement> kept;
  for (std::size_t n = program_.statements.size(); n-- > 0;) {
    Statement& statement = program_.statements[n];
    if (std::none_of(statement.results.begin(), statement.results.end(),
                     [&](int value) { return read[static_cast<std::size_t>(value)]; }))
      continue;
    mark(statement.text);
    kept.push_back(std::move(statement));
  }
  std::reverse(kept.begin(), kept.end());
  program_.statements = std::move(kept);
  // Layers that only dropped statements had.
  std::vector<int> numbers(program_.layers.size(), -1);
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!used[i]) continue;
    numbers[i] = static_cast<int>(layers.size());
    layers.push_back(std::move(program_.layers[i]));
  }
  program_.layers = std::move(layers);
  const auto renumber = [&](std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
      out += text[at];
      if (text[at] != kLayerMark) continue;
      const std::size_t end = text.find(';', at);
      out += std::to_string(numbers[static_cast<std::size_t>(std::atoi(text.c_str() + at + 1))]);
      at = end - 1;
    }
    text = std::move(out);
  };
  for (Statement& statement : program_.statements) renumber(statement.text);
  for (std::string& result : program_.results) renumber(result);
}

Program Lowering::run() {
  check(graph_);
  std::vector<int> places(graph_.values.size());
  for (std::size_t value = 0; value < places.size(); ++value) places[value] = static_cast<int>(value);
  program_.inputs = graph_.inputs;
  for (const Node& node : graph_.nodes) {
    if (skipped_.count(&node)) continue;
    const Site site{*this, node};
    Said said = layer_of(site);
    if (!said) said = form_of(site);
    if (!said)
      said = node.op == "If" && node.domain.empty() ? branch(node, graph_, places) : generic(node, graph_, places);
    if (said->scope.empty()) said->scope = scope_of(node);
    if (said->results.empty()) said->results = {node.outputs[0]};
    program_.statements.push_back(std::move(*said));
  }
  Node giver;
  for (const int output : graph_.outputs) {
    const Operand result = operand(output, giver);
    program_.results.push_back(result.text);
    program_.result_types.push_back(result.type);
    program_.result_names.push_back(output == kAbsent ? "" : graph_.values[static_cast<std::size_t>(output)].name);
  }
  if (!wrong_.empty()) {
    std::string list;
    for (const std::string& line : wrong_) list += (list.empty() ? "" : "; ") + line;
    fail<LoadError>(shown(file_), ": there is no C++ for these nodes: ", list);
  }
  drop_unread();
  settle_paths();
  return std::move(program_);
}

Program lower(const Graph& graph, const Observed& observed, const std::string& file) {
  return Lowering(graph, observed, file).run();
}

}  // namespace kiln::onnx::cpp
