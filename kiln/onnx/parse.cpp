// The messages of onnx.proto from bytes; fields.hpp has their fields.
#include "kiln/onnx/fields.hpp"
#include "kiln/onnx/wire.hpp"

namespace kiln::onnx {
namespace {

template <class Message>
Message message_of(WireReader reader);
template <>
TypeProto message_of(WireReader reader);

// A member, by its type: a list gets one more element, or packed numbers.
template <class T>
void read(const WireReader& reader, T& member) {
  if constexpr (std::is_same_v<T, std::string>) member = reader.text();
  else if constexpr (std::is_same_v<T, float>) member = reader.real();
  else if constexpr (std::is_same_v<T, bool>) member = reader.integer() == 1;
  else if constexpr (std::is_same_v<T, Bytes>) member = reader.bytes();
  else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) member = static_cast<T>(reader.integer());
  else if constexpr (std::is_same_v<T, std::shared_ptr<const GraphProto>>)
    member = std::make_shared<GraphProto>(message_of<GraphProto>(reader.message()));
  else member = message_of<T>(reader.message());
}
template <class T>
void read(const WireReader& reader, std::optional<T>& member) {
  read(reader, member.emplace());
}
template <class T>
void read(const WireReader& reader, std::vector<T>& list) {
  if constexpr (std::is_floating_point_v<T>) reader.reals(list);
  else if constexpr (std::is_integral_v<T>) reader.integers(list);
  else read(reader, list.emplace_back());
}

/// Reads the field that the reader stands at, if it has the number.
struct FieldReader {
  const WireReader& reader;
  AttributeProto::Type type = AttributeProto::Type::Undefined;  // of the contents of an attribute

  template <class T>
  void operator()(std::uint32_t number, T& member) {
    if (reader.field() == number) read(reader, member);
  }
  template <class T>
  void always(std::uint32_t number, T& member) {
    (*this)(number, member);
  }
  template <class T>
  void typed(std::uint32_t number, T& member, AttributeProto::Type contents) {
    if (reader.field() == number) read(reader, member), type = contents;
  }
};

template <class Message>
Message message_of(WireReader reader) {
  auto message = reader.made<Message>();
  FieldReader field{reader};
  while (reader.next()) {
    if (std::is_same_v<Message, TensorProto> && reader.field() == 3) reader.damaged("tensors in segments are not read");
    fields(field, message);
  }
  // Files of the first version of the format do not name the type of an attribute.
  if constexpr (std::is_same_v<Message, AttributeProto>)
    if (message.type == AttributeProto::Type::Undefined) message.type = field.type;
  // Some exporters write "?" for a size of which nothing is known.
  if constexpr (std::is_same_v<Message, DimProto>)
    if (message.param == "?") message.param.clear();
  return message;
}

std::vector<DimProto> shape_of(WireReader reader) {
  std::vector<DimProto> dims;
  while (reader.next())
    if (reader.field() == 1) read(reader, dims);
  return dims;
}

// The message of a kind: the type of its elements, or of its keys, and what it is made of.
void read_kind(WireReader reader, TypeProto& type) {
  using Kind = TypeProto::Kind;
  const bool is_tensor = type.kind == Kind::Tensor || type.kind == Kind::SparseTensor;
  const std::uint32_t of_inner = is_tensor ? 0 : type.kind == Kind::Map ? 2 : 1;
  while (reader.next()) {
    if (reader.field() == of_inner) type.inner = std::make_shared<TypeProto>(message_of<TypeProto>(reader.message()));
    else if (reader.field() == 1) read(reader, type.element);
    else if (reader.field() == 2 && is_tensor) type.shape = shape_of(reader.message());
  }
}

template <>
TypeProto message_of(WireReader reader) {
  using Kind = TypeProto::Kind;
  auto type = reader.made<TypeProto>();
  while (reader.next()) {
    switch (reader.field()) {
      case 1: type.kind = Kind::Tensor; break;
      case 4: type.kind = Kind::Sequence; break;
      case 5: type.kind = Kind::Map; break;
      case 8: type.kind = Kind::SparseTensor; break;
      case 9: type.kind = Kind::Optional; break;
      default: continue;
    }
    read_kind(reader.message(), type);
  }
  return type;
}

template <class Message>
Message parsed(Bytes bytes, const std::string& file) {
  WireBudget budget(bytes);
  return message_of<Message>({bytes, file, bytes.data(), budget});
}

}  // namespace

ModelProto parse_model(Bytes bytes, const std::string& file) {
  WireBudget budget(bytes);
  WireReader reader(bytes, file, bytes.data(), budget);
  ModelProto model;
  FieldReader field{reader};
  bool has_graph = false;
  while (reader.next()) {
    has_graph = has_graph || reader.field() == 7;
    fields(field, model);
  }
  require<DataError>(has_graph, shown(file), ": has no graph, so it is not an ONNX model");
  return model;
}
TensorProto parse_tensor(Bytes bytes, const std::string& file) { return parsed<TensorProto>(bytes, file); }
SequenceProto parse_sequence(Bytes bytes, const std::string& file) { return parsed<SequenceProto>(bytes, file); }
OptionalProto parse_optional(Bytes bytes, const std::string& file) { return parsed<OptionalProto>(bytes, file); }

}  // namespace kiln::onnx
