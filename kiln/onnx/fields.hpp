// The fields of the messages of onnx.proto, by their numbers: what parse.cpp reads and print.cpp writes. `field` is called
// as
//   field(4, member)           for a field that is written where it is not empty,
//   field.always(4, member)    for one that is always written, and
//   field.typed(4, member, t)  for the contents of an attribute of type t.
// TypeProto stands in messages of its own, one for each kind; both files have them.
#pragma once
#include <concepts>
#include <type_traits>

#include "kiln/onnx/file.hpp"

namespace kiln::onnx {

/// A message to be read, or one to be written.
template <class M, class Message>
concept MessageOf = std::same_as<std::remove_const_t<M>, Message>;

template <class F>
void fields(F&& field, MessageOf<std::pair<std::string, std::string>> auto& entry) {
  field.always(1, entry.first);
  field.always(2, entry.second);
}

template <class F>
void fields(F&& field, MessageOf<OperatorSetId> auto& set) {
  field.always(1, set.domain);
  field.always(2, set.version);
}

template <class F>
void fields(F&& field, MessageOf<TensorProto> auto& tensor) {
  field(1, tensor.dims);
  field.always(2, tensor.element);
  field(4, tensor.float_data);
  field(5, tensor.int32_data);
  field(6, tensor.string_data);
  field(7, tensor.int64_data);
  field(8, tensor.name);
  field(9, tensor.raw_data);
  field(10, tensor.double_data);
  field(11, tensor.uint64_data);
  field(13, tensor.external_data);
  field(14, tensor.external);
}

template <class F>
void fields(F&& field, MessageOf<SparseTensorProto> auto& tensor) {
  field.always(1, tensor.values);
  field.always(2, tensor.indices);
  field(3, tensor.dims);
}

template <class F>
void fields(F&& field, MessageOf<DimProto> auto& dim) {
  field(1, dim.value);
  field(2, dim.param);
}

template <class F>
void fields(F&& field, MessageOf<ValueInfoProto> auto& value) {
  field.always(1, value.name);
  field(2, value.type);
}

template <class F>
void fields(F&& field, MessageOf<AttributeProto> auto& attribute) {
  using Type = AttributeProto::Type;
  field.always(1, attribute.name);
  field.typed(2, attribute.f, Type::Float);
  field.typed(3, attribute.i, Type::Int);
  field.typed(4, attribute.s, Type::String);
  field.typed(5, attribute.tensors, Type::Tensor);
  field.typed(6, attribute.graphs, Type::Graph);
  field.typed(7, attribute.floats, Type::Floats);
  field.typed(8, attribute.ints, Type::Ints);
  field.typed(9, attribute.strings, Type::Strings);
  field.typed(10, attribute.tensors, Type::Tensors);
  field.typed(11, attribute.graphs, Type::Graphs);
  field.typed(14, attribute.types, Type::Type);
  field.typed(15, attribute.types, Type::Types);
  field.typed(22, attribute.sparse_tensors, Type::SparseTensor);
  field.typed(23, attribute.sparse_tensors, Type::SparseTensors);
  field.always(20, attribute.type);
  field(21, attribute.ref_attr_name);
}

template <class F>
void fields(F&& field, MessageOf<NodeProto> auto& node) {
  field(1, node.input);
  field(2, node.output);
  field(3, node.name);
  field.always(4, node.op_type);
  field(5, node.attribute);
  field(7, node.domain);
  field(8, node.overload);
}

template <class F>
void fields(F&& field, MessageOf<GraphProto> auto& graph) {
  field(1, graph.node);
  field.always(2, graph.name);
  field(5, graph.initializer);
  field(11, graph.input);
  field(12, graph.output);
  field(13, graph.value_info);
  field(15, graph.sparse_initializer);
}

template <class F>
void fields(F&& field, MessageOf<FunctionProto> auto& function) {
  field.always(1, function.name);
  field(4, function.input);
  field(5, function.output);
  field(6, function.attribute);
  field(7, function.node);
  field(9, function.opset_import);
  field.always(10, function.domain);
  field(11, function.attribute_proto);
  field(13, function.overload);
}

template <class F>
void fields(F&& field, MessageOf<ModelProto> auto& model) {
  field.always(1, model.ir_version);
  field(2, model.producer_name);
  field(3, model.producer_version);
  field.always(7, model.graph);
  field(8, model.opset_import);
  field(25, model.functions);
}

template <class F>
void fields(F&& field, MessageOf<SequenceProto> auto& sequence) {
  field(1, sequence.name);
  field.always(2, sequence.elem_type);
  field(3, sequence.tensors);
  field(5, sequence.sequences);
  field(7, sequence.optionals);
}

template <class F>
void fields(F&& field, MessageOf<OptionalProto> auto& optional) {
  field(1, optional.name);
  field.always(2, optional.elem_type);
  field(3, optional.tensor);
  field(5, optional.sequence);
}

}  // namespace kiln::onnx
