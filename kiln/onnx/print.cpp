// The messages of onnx.proto as bytes: what parse.cpp reads, field by field.
#include "kiln/onnx/print.hpp"

namespace kiln::onnx {
namespace {

WireWriter written(const GraphProto& graph);

template <class List, class F>
void each(WireWriter& out, int field, const List& list, F&& write) {
  for (const auto& entry : list) out.message(field, write(entry));
}
void names(WireWriter& out, int field, const std::vector<std::string>& list) {
  for (const std::string& name : list) out.text(field, name);
}
void optional_text(WireWriter& out, int field, const std::string& value) {
  if (!value.empty()) out.text(field, value);
}

WireWriter written(const std::pair<std::string, std::string>& entry) {
  WireWriter out;
  out.text(1, entry.first);
  out.text(2, entry.second);
  return out;
}

WireWriter written(const OperatorSetId& set) {
  WireWriter out;
  out.text(1, set.domain);
  out.integer(2, set.version);
  return out;
}

WireWriter written(const TensorProto& tensor) {
  WireWriter out;
  out.integers(1, tensor.dims);
  out.integer(2, static_cast<std::int64_t>(tensor.element));
  out.reals(4, tensor.float_data);
  out.integers(5, tensor.int32_data);
  for (const std::string& each_string : tensor.string_data) out.text(6, each_string);
  out.integers(7, tensor.int64_data);
  optional_text(out, 8, tensor.name);
  if (tensor.raw_data) out.bytes(9, *tensor.raw_data);
  out.reals(10, tensor.double_data);
  out.integers(11, tensor.uint64_data);
  for (const auto& entry : tensor.external_data) out.message(13, written(entry));
  if (tensor.external) out.integer(14, 1);
  return out;
}

WireWriter written(const SparseTensorProto& tensor) {
  WireWriter out;
  out.message(1, written(tensor.values));
  out.message(2, written(tensor.indices));
  out.integers(3, tensor.dims);
  return out;
}

WireWriter written(const DimProto& dim) {
  WireWriter out;
  if (dim.value) out.integer(1, *dim.value);
  else optional_text(out, 2, dim.param);
  return out;
}

WireWriter written(const TypeProto& type) {
  using Kind = TypeProto::Kind;
  WireWriter out, inner;
  const auto of_inner = [&](int field) {
    if (type.inner) inner.message(field, written(*type.inner));
  };
  switch (type.kind) {
    case Kind::None: break;
    case Kind::Tensor:
    case Kind::SparseTensor:
      inner.integer(1, static_cast<std::int64_t>(type.element));
      if (type.shape) {
        WireWriter shape;
        each(shape, 1, *type.shape, [](const DimProto& dim) { return written(dim); });
        inner.message(2, shape);
      }
      out.message(type.kind == Kind::Tensor ? 1 : 8, inner);
      break;
    case Kind::Sequence:
    case Kind::Optional:
      of_inner(1);
      out.message(type.kind == Kind::Sequence ? 4 : 9, inner);
      break;
    case Kind::Map:
      inner.integer(1, static_cast<std::int64_t>(type.element));
      of_inner(2);
      out.message(5, inner);
      break;
  }
  return out;
}

WireWriter written(const ValueInfoProto& value) {
  WireWriter out;
  out.text(1, value.name);
  if (value.type.kind != TypeProto::Kind::None) out.message(2, written(value.type));
  return out;
}

WireWriter written(const AttributeProto& attribute) {
  using Type = AttributeProto::Type;
  WireWriter out;
  const auto tensor = [](const TensorProto& entry) { return written(entry); };
  const auto sparse = [](const SparseTensorProto& entry) { return written(entry); };
  const auto graph = [](const std::shared_ptr<const GraphProto>& entry) { return written(*entry); };
  const auto type = [](const TypeProto& entry) { return written(entry); };
  out.text(1, attribute.name);
  if (attribute.ref_attr_name.empty()) switch (attribute.type) {
      case Type::Undefined: break;
      case Type::Float: out.real(2, attribute.f); break;
      case Type::Int: out.integer(3, attribute.i); break;
      case Type::String: out.text(4, attribute.s); break;
      case Type::Tensor: each(out, 5, attribute.tensors, tensor); break;
      case Type::Graph: each(out, 6, attribute.graphs, graph); break;
      case Type::Floats: out.reals(7, attribute.floats); break;
      case Type::Ints:
        for (const std::int64_t number : attribute.ints) out.integer(8, number);
        break;
      case Type::Strings: names(out, 9, attribute.strings); break;
      case Type::Tensors: each(out, 10, attribute.tensors, tensor); break;
      case Type::Graphs: each(out, 11, attribute.graphs, graph); break;
      case Type::Type: each(out, 14, attribute.types, type); break;
      case Type::Types: each(out, 15, attribute.types, type); break;
      case Type::SparseTensor: each(out, 22, attribute.sparse_tensors, sparse); break;
      case Type::SparseTensors: each(out, 23, attribute.sparse_tensors, sparse); break;
    }
  out.integer(20, static_cast<std::int64_t>(attribute.type));
  optional_text(out, 21, attribute.ref_attr_name);
  return out;
}

WireWriter written(const NodeProto& node) {
  WireWriter out;
  names(out, 1, node.input);
  names(out, 2, node.output);
  optional_text(out, 3, node.name);
  out.text(4, node.op_type);
  each(out, 5, node.attribute, [](const AttributeProto& entry) { return written(entry); });
  optional_text(out, 7, node.domain);
  optional_text(out, 8, node.overload);
  return out;
}

WireWriter written(const GraphProto& graph) {
  const auto value = [](const ValueInfoProto& entry) { return written(entry); };
  WireWriter out;
  each(out, 1, graph.node, [](const NodeProto& entry) { return written(entry); });
  out.text(2, graph.name);
  each(out, 5, graph.initializer, [](const TensorProto& entry) { return written(entry); });
  each(out, 11, graph.input, value);
  each(out, 12, graph.output, value);
  each(out, 13, graph.value_info, value);
  each(out, 15, graph.sparse_initializer, [](const SparseTensorProto& entry) { return written(entry); });
  return out;
}

WireWriter written(const FunctionProto& function) {
  WireWriter out;
  out.text(1, function.name);
  names(out, 4, function.input);
  names(out, 5, function.output);
  names(out, 6, function.attribute);
  each(out, 7, function.node, [](const NodeProto& entry) { return written(entry); });
  each(out, 9, function.opset_import, [](const OperatorSetId& entry) { return written(entry); });
  out.text(10, function.domain);
  each(out, 11, function.attribute_proto, [](const AttributeProto& entry) { return written(entry); });
  optional_text(out, 13, function.overload);
  return out;
}

WireWriter written_tensor(const Datum& datum) {
  require<ArgumentError>(datum.is_tensor(), "there are no files of ", datum);
  WireWriter out;
  out.integers(1, datum.value().shape());
  out.integer(2, static_cast<std::int64_t>(datum.element()));
  if (datum.is_string()) names(out, 6, datum.strings());
  else out.bytes(9, pack(datum.element(), datum.value().data()));
  return out;
}

}  // namespace

std::string print_datum(const Datum& datum) {
  constexpr int kTensor = 1, kSequence = 3;  // what the elements are
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

std::string print_model(const ModelProto& model) {
  WireWriter out;
  out.integer(1, model.ir_version);
  optional_text(out, 2, model.producer_name);
  optional_text(out, 3, model.producer_version);
  out.message(7, written(model.graph));
  each(out, 8, model.opset_import, [](const OperatorSetId& entry) { return written(entry); });
  each(out, 25, model.functions, [](const FunctionProto& entry) { return written(entry); });
  return out.written();
}

}  // namespace kiln::onnx
