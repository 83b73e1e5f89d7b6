// Constants: small ones stand in the text, others are parameters and buffers. Layers at their places.
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

std::string Lowering::constant_text(const Datum& constant, const Place& place, const std::string& name,
                                    const Node& reader, bool trained) {
  if (!constant.is_tensor()) {
    if (constant.kind() == Datum::Kind::Sequence) {
      std::string items;
      std::size_t number = 0;
      for (const Datum& item : constant.items()) {
        const std::string each = text('/', number++);
        items += (items.empty() ? "" : ", ") +
                 constant_text(item, {place.owner, place.part + each}, name + each, reader, false);
      }
      return text("onnx::Datum::sequence({", items, "}, ", element_text(constant.element()), ')');
    }
    if (constant.kind() == Datum::Kind::Optional)
      return constant.held()
                 ? text("onnx::Datum::optional(", constant_text(*constant.held(), place, name, reader, false), ')')
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
  auto found = constant_layers_.find(place);
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
    found = constant_layers_.emplace(place, static_cast<int>(program_.layers.size()) - 1).first;
  }
  const std::string field = layer_mark(found->second);
  const bool is_param = program_.layers[static_cast<std::size_t>(found->second)].type.starts_with("nn::Param<");
  if (is_param) return field;  // whoever reads it, it is what its first reader took it for
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
  operand.text = constant_text(constant->second, {&graph_, text(value)}, variable.name, reader, true);
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

}  // namespace kiln::onnx::cpp
