#include "kiln/onnx/generate/lowering.hpp"
#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx::cpp {

NodeInput Site::operand(std::size_t i) const { return lowering.operand(has(i) ? node.inputs[i] : kAbsent, node); }
Code Site::in(std::size_t i) const { return operand(i).code; }
bool Site::typed(std::size_t i) const { return has(i) && operand(i).type.is_tensor(); }

const Datum* Site::constant(std::size_t i) const {
  if (!has(i)) return nullptr;
  const auto found = lowering.graph().constants.find(node.inputs[i]);
  const bool plain = found != lowering.graph().constants.end() && found->second.is_tensor() &&
                     !found->second.is_string() && !is_narrow(found->second.element());
  return plain ? &found->second : nullptr;
}
std::optional<Ints> Site::ints(std::size_t i) const {
  const Datum* const found = constant(i);
  if (!found || !is_integer(found->value().dtype())) return {};
  return found->value().data().to_vector<std::int64_t>();
}
std::optional<double> Site::number(std::size_t i) const {
  const Datum* const found = constant(i);
  if (!found || found->value().numel() != 1) return {};
  return found->value().data().at(0);
}

bool Site::one_result() const {
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kAbsent) return false;
  return !node.outputs.empty() && node.outputs[0] != kAbsent;
}
int Site::rank() const { return lowering.program()[node.outputs[0]].type.rank; }
bool Site::gives(kiln::Kind kind) const {
  if (!one_result()) return false;
  const Type& type = lowering.program()[node.outputs[0]].type;
  return type.is_tensor() && type.kind == kind;
}

std::int64_t Site::i(std::string_view name, std::int64_t otherwise) const {
  return int_attribute(node, name, otherwise);
}
double Site::f(std::string_view name, double otherwise) const {
  const Attribute* const found = find_attribute(node, name);
  return found && found->type == AttributeProto::Type::Float ? static_cast<double>(found->f) : otherwise;
}
std::string Site::s(std::string_view name, std::string_view otherwise) const {
  const Attribute* const found = find_attribute(node, name);
  return found && found->type == AttributeProto::Type::String ? found->s : std::string(otherwise);
}
Ints Site::list(std::string_view name) const {
  const Attribute* const found = find_attribute(node, name);
  return found && found->type == AttributeProto::Type::Ints ? found->ints : Ints();
}
std::optional<Ints> Site::ints_either(std::size_t i, std::string_view name) const {
  if (has(i)) return ints(i);
  return given(name) ? std::optional<Ints>(list(name)) : std::nullopt;
}

}  // namespace kiln::onnx::cpp
