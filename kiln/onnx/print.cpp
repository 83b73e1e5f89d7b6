// The messages of onnx.proto as bytes; fields.hpp has their fields.
#include "kiln/onnx/print.hpp"

#include "kiln/onnx/fields.hpp"

namespace kiln::onnx {
namespace {

template <class Message>
WireWriter written(const Message& message);
template <>
WireWriter written(const TypeProto& type);

// A member, by its type: a list is one field after the other, or packed numbers.
template <class T>
void write(WireWriter& out, int number, const T& member) {
  if constexpr (std::is_same_v<T, std::string>) out.text(number, member);
  else if constexpr (std::is_same_v<T, float>) out.real(number, member);
  else if constexpr (std::is_same_v<T, Bytes>) out.bytes(number, member);
  else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) out.integer(number, static_cast<std::int64_t>(member));
  else if constexpr (std::is_same_v<T, std::shared_ptr<const GraphProto>>) out.message(number, written(*member));
  else out.message(number, written(member));
}
template <class T>
void write(WireWriter& out, int number, const std::optional<T>& member) {
  write(out, number, *member);
}
template <class T>
void write(WireWriter& out, int number, const std::vector<T>& list) {
  if constexpr (std::is_floating_point_v<T>) out.reals(number, list);
  else if constexpr (std::is_integral_v<T>) out.integers(number, list);
  else
    for (const T& each : list) write(out, number, each);
}

template <class T>
bool is_empty(const T& member) {
  if constexpr (std::is_same_v<T, TypeProto>) return member.kind == TypeProto::Kind::None;
  else if constexpr (requires { member.empty(); }) return member.empty();
  else return !member;
}

struct FieldWriter {
  WireWriter& out;
  AttributeProto::Type type = AttributeProto::Type::Undefined;  // of an attribute with contents of its own

  void operator()(int number, const auto& member) {
    if (!is_empty(member)) write(out, number, member);
  }
  void always(int number, const auto& member) { write(out, number, member); }
  void typed(int number, const auto& member, AttributeProto::Type contents) {
    if (type == contents) write(out, number, member);
  }
  // The standard writes the integers of an attribute one by one.
  void typed(int number, const std::vector<std::int64_t>& list, AttributeProto::Type contents) {
    if (type != contents) return;
    for (const std::int64_t each : list) out.integer(number, each);
  }
};

template <class Message>
WireWriter written(const Message& message) {
  WireWriter out;
  FieldWriter field{out};
  if constexpr (std::is_same_v<Message, AttributeProto>)
    if (message.ref_attr_name.empty()) field.type = message.type;
  fields(field, message);
  return out;
}

template <>
WireWriter written(const TypeProto& type) {
  using Kind = TypeProto::Kind;
  const bool is_tensor = type.kind == Kind::Tensor || type.kind == Kind::SparseTensor;
  WireWriter out, inner;
  if (is_tensor || type.kind == Kind::Map) write(inner, 1, type.element);
  if (is_tensor && type.shape) {
    WireWriter shape;
    write(shape, 1, *type.shape);
    inner.message(2, shape);
  }
  if (!is_tensor && type.inner) inner.message(type.kind == Kind::Map ? 2 : 1, written(*type.inner));
  constexpr int kFields[] = {0, 1, 4, 5, 9, 8};  // by kind
  if (type.kind != Kind::None) out.message(kFields[static_cast<std::size_t>(type.kind)], inner);
  return out;
}

WireWriter written_tensor(const Datum& datum) {
  require<ArgumentError>(datum.is_tensor(), "there are no files of ", datum);
  WireWriter out;
  out.integers(1, datum.value().shape());
  write(out, 2, datum.element());
  if (datum.is_string()) write(out, 6, datum.strings());
  else out.bytes(9, pack(datum.element(), datum.value().data()));
  return out;
}

}  // namespace

std::string print_datum(const Datum& datum) {
  constexpr int kTensor = 1, kSequence = 3;  // the types of elements
  WireWriter out;
  if (datum.kind() == Datum::Kind::Sequence) {
    out.integer(2, kTensor);
    for (const Datum& item : datum.items()) out.message(3, written_tensor(item));
    return out.written();
  }
  if (datum.kind() != Datum::Kind::Optional) return written_tensor(datum).written();
  const Datum* const held = datum.held();
  const bool is_sequence = held && held->kind() == Datum::Kind::Sequence;
  out.integer(2, !held ? 0 : is_sequence ? kSequence : kTensor);
  if (held) out.text(is_sequence ? 5 : 3, print_datum(*held));
  return out.written();
}

std::string print_model(const ModelProto& model) { return written(model).written(); }

}  // namespace kiln::onnx
