// The messages of an .onnx file, as plain structs with the names of the format (onnx.proto): ModelProto, GraphProto, ...
// Bytes of tensors are not copied: they are spans of the file, which is mapped, and of the files that hold external
// data.
#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/mapped_file.hpp"
#include "kiln/onnx/element.hpp"

namespace kiln::onnx {

using Bytes = std::span<const std::byte>;

/// A dimension of a declared type: a size, a name, or neither.
struct DimProto {
  std::optional<std::int64_t> value;
  std::string param;
};

struct TypeProto {
  enum class Kind : std::uint8_t { None, Tensor, Sequence, Map, Optional, SparseTensor };
  Kind kind = Kind::None;
  Element element = Element::Undefined;        // the type of a tensor, or of a map's keys
  std::optional<std::vector<DimProto>> shape;  // absent: any rank
  std::shared_ptr<const TypeProto> inner;      // the type in a sequence, an optional or a map's values
};

struct ValueInfoProto {
  std::string name;
  TypeProto type;
};

struct TensorProto {
  std::string name;
  std::vector<std::int64_t> dims;
  Element element = Element::Undefined;
  std::optional<Bytes> raw_data;
  std::vector<float> float_data;
  std::vector<double> double_data;
  std::vector<std::int32_t> int32_data;
  std::vector<std::int64_t> int64_data;
  std::vector<std::uint64_t> uint64_data;
  std::vector<std::string> string_data;
  bool external = false;
  std::vector<std::pair<std::string, std::string>> external_data;
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<std::int64_t> dims;
};

struct GraphProto;

/// An attribute's type, and its contents where these are numbers, words or types: the field of its type is set.
struct PlainAttribute {
  enum class Type : std::int32_t {
    Undefined,
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
    SparseTensor,
    SparseTensors,
    Type,
    Types,
  };
  Type type = Type::Undefined;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TypeProto> types;  // one for a TYPE_PROTO

  explicit PlainAttribute(Type of = Type::Undefined) : type(of) {}
  template <std::integral T>
  PlainAttribute(T number) : type(Type::Int), i(static_cast<std::int64_t>(number)) {}
  template <std::floating_point T>
  PlainAttribute(T number) : type(Type::Float), f(static_cast<float>(number)) {}
  PlainAttribute(std::string_view words) : type(Type::String), s(words) {}
  PlainAttribute(const char* words) : PlainAttribute(std::string_view(words)) {}
  PlainAttribute(std::vector<float> numbers) : type(Type::Floats), floats(std::move(numbers)) {}
  PlainAttribute(std::vector<std::int64_t> numbers) : type(Type::Ints), ints(std::move(numbers)) {}
  PlainAttribute(std::vector<std::string> words) : type(Type::Strings), strings(std::move(words)) {}
};

struct AttributeProto : PlainAttribute {
  AttributeProto(PlainAttribute plain = PlainAttribute()) : PlainAttribute(std::move(plain)) {}

  std::string name, ref_attr_name;
  std::vector<TensorProto> tensors;                       // one for a TENSOR
  std::vector<SparseTensorProto> sparse_tensors;          // one for a SPARSE_TENSOR
  std::vector<std::shared_ptr<const GraphProto>> graphs;  // one for a GRAPH
};

struct NodeProto {
  std::string name, op_type, domain, overload;
  std::vector<std::string> input, output;
  std::vector<AttributeProto> attribute;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<ValueInfoProto> input, output, value_info;
};

struct OperatorSetId {
  std::string domain;
  std::int64_t version = 0;
};

struct FunctionProto {
  std::string name, domain, overload;
  std::vector<std::string> input, output, attribute;
  std::vector<AttributeProto> attribute_proto;  // those with defaults
  std::vector<NodeProto> node;
  std::vector<OperatorSetId> opset_import;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version;
  std::vector<OperatorSetId> opset_import;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

/// Messages of the .pb files of backend tests: sequences and optionals of tensors.
struct SequenceProto {
  std::string name;
  std::int32_t elem_type = 0;  // 1 tensors, 2 sparse tensors, 3 sequences, 4 maps, 5 optionals
  std::vector<TensorProto> tensors;
  std::vector<SequenceProto> sequences;
  std::vector<struct OptionalProto> optionals;
};
struct OptionalProto {
  std::string name;
  std::int32_t elem_type = 0;  // 0: empty
  std::optional<TensorProto> tensor;
  std::optional<SequenceProto> sequence;
};

/// Parses a whole message. Throws DataError, whose sentence begins with `file` and says at which byte what is wrong: a
/// length beyond the end, an unfinished number, a wire type that the field does not have, graphs nested more than 64
/// deep.
ModelProto parse_model(Bytes bytes, const std::string& file);
TensorProto parse_tensor(Bytes bytes, const std::string& file);
SequenceProto parse_sequence(Bytes bytes, const std::string& file);
OptionalProto parse_optional(Bytes bytes, const std::string& file);

/// A tensor's contents; what is external is read from a file below `directory`. Throws DataError that begins with
/// `file`. What lies there as Kiln has it in memory is lent: from the files beside the model, and from its own if that is
/// `source`, which the protos were parsed from. The rest is copied, and leaves memory where it was mapped.
class TensorReader {
 public:
  TensorReader(std::string file, std::string directory, FileBytes source = {})
      : file_(std::move(file)), directory_(std::move(directory)), source_(std::move(source)) {}
  TensorData read(const TensorProto& tensor);
  /// The strings of a string tensor, as many as its shape says.
  std::vector<std::string> strings(const TensorProto& tensor) const;
  Shape shape(const TensorProto& tensor) const;
  const std::string& file() const { return file_; }

 private:
  FileBytes external(const TensorProto& tensor);  // the part of the file that the tensor takes

  std::string file_, directory_;
  FileBytes source_;
  std::vector<FileBytes> mapped_;
};

}  // namespace kiln::onnx
