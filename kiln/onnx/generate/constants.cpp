// Constants and layers. Small constants stand in the text; others are parameters and buffers.
#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {
namespace {

constexpr std::int64_t kMostWritten = 16;  // elements of a constant that stands in the text

// "onnx::MatMul_12" -> "mat_mul_12"
std::string_view without_prefix(std::string_view name) { return name.starts_with("onnx::") ? name.substr(6) : name; }

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

Code Lowering::sequence_code(const Datum& sequence, const ConstantKey& key, const std::string& name,
                             const Node& reader) {
  Code::List items;
  for (const Datum& item : sequence.items()) {
    const std::string part = text('/', items.size());
    items.push_back(constant_code(item, {key.owner, key.part + part}, name + part, reader, false));
  }
  return Code::call("onnx::Datum::sequence",
                    {Code::list(std::move(items)), Code::word(enumerator(sequence.element()))});
}

// The layer of a constant; its first reader adds the layer.
int Lowering::constant_layer(const Value& value, const ConstantKey& key, const std::string& name, const Node& reader,
                             bool trained) {
  const auto [found, fresh] = constant_layers_.emplace(key, static_cast<int>(program_.layers.size()));
  if (!fresh) return found->second;
  Path path = split(without_prefix(name), name.find('/') == std::string::npos ? '.' : '/');
  if (path.size() < 2) {
    const std::string own = path.empty() ? "constant" : path.back();
    path = scope_of(reader);
    path.push_back(own);
  }
  const Type type{value.rank(), kind_of(value.dtype())};
  Layer layer{std::move(path), {}, {}, {}, {{"", value}}};
  layer.type = text(trained ? "nn::Param<" : "nn::Buffer<", name_of(type).substr(7));
  layer.options = {{"shape", "Shape", braces(to_ints(value.shape())), ""},
                   {"dtype", "DType", dtype_text(value.dtype()), "DType::F32"}};
  program_.layers.push_back(std::move(layer));
  return found->second;
}

Code Lowering::constant_code(const Datum& constant, const ConstantKey& key, const std::string& name, const Node& reader,
                             bool trained) {
  if (constant.kind() == Datum::Kind::Sequence) return sequence_code(constant, key, name, reader);
  if (constant.kind() == Datum::Kind::Optional)
    return constant.held()
               ? Code::call("onnx::Datum::optional", {constant_code(*constant.held(), key, name, reader, false)})
               : Code::call("onnx::Datum::empty_optional", {});
  if (!constant.is_tensor()) {
    wrong_.push_back(text(described(reader), ": reads a constant that is ", constant));
    return {};
  }
  const Value& value = constant.value();
  const Element element = constant.element();
  const Code shape = Code::verbatim(braces(to_ints(value.shape())));
  if (constant.is_string())
    return Code::call("onnx::strings", {shape, Code::verbatim(listed(constant.strings())), Code::device()});
  const bool sizes = reader.op == "Resize" || reader.op == "Upsample";
  trained = trained && is_float(value.dtype()) && !is_narrow(element) && value.rank() > 0 && !sizes;
  if (!trained && value.numel() <= kMostWritten && value.dtype() != DType::U64) {
    const bool real = is_float(value.dtype());
    const std::string numbers = !real                         ? listed(value.data().to_vector<std::int64_t>())
                                : value.dtype() == DType::F64 ? listed(value.data().to_vector<double>())
                                                              : listed(value.data().to_vector<float>());
    Code::List operands{shape, Code::verbatim(numbers), Code::device()};
    if (element != (real ? Element::Float : Element::Int64)) operands.push_back(Code::word(enumerator(element)));
    return Code::call(real ? "onnx::reals" : "onnx::ints", std::move(operands));
  }
  const int number = constant_layer(value, key, name, reader, trained);
  const Code field = Code::layer(number);
  const bool is_param = program_.layers[static_cast<std::size_t>(number)].type.starts_with("nn::Param<");
  if (is_param) return field;  // for every reader, as its first one took it
  return is_narrow(element) ? Code::call("onnx::Datum", {Code::method(field, "value"), Code::word(enumerator(element))})
                            : Code::method(field, "get");
}

NodeInput Lowering::operand(int value, const Node& reader) {
  if (value == kAbsent) return {};
  const Variable& variable = program_[value];
  NodeInput input{Code::value(value), variable.type, variable.element, nullptr, variable.shape};
  const auto constant = graph_.constants.find(value);
  if (constant == graph_.constants.end()) return input;
  input.constant = &constant->second;
  input.code = constant_code(constant->second, {&graph_, text(value)}, variable.name, reader, true);
  if (!contains(input.code, Code::Kind::Layer) || is_narrow(input.element)) input.type = {};
  return input;
}

int Lowering::add_layer(Layer layer, const Node& node, int weight, std::string_view otherwise) {
  const std::string& name = graph_[weight].name;
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

}  // namespace kiln::onnx::cpp
