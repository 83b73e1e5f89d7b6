// The messages of onnx.proto; the numbers are those of its fields.
#include "kiln/onnx/wire.hpp"

namespace kiln::onnx {
namespace {

GraphProto graph_of(WireReader reader);

std::pair<std::string, std::string> entry_of(WireReader reader) {
  auto entry = reader.made<std::pair<std::string, std::string>>();
  while (reader.next()) switch (reader.field()) {
      case 1: entry.first = reader.text(); break;
      case 2: entry.second = reader.text(); break;
    }
  return entry;
}

OperatorSetId operator_set_of(WireReader reader) {
  auto set = reader.made<OperatorSetId>();
  while (reader.next()) switch (reader.field()) {
      case 1: set.domain = reader.text(); break;
      case 2: set.version = reader.integer(); break;
    }
  return set;
}

TensorProto tensor_of(WireReader reader) {
  auto tensor = reader.made<TensorProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: reader.integers(tensor.dims); break;
      case 2: tensor.element = static_cast<Element>(reader.integer()); break;
      case 3: reader.damaged("tensors in segments are not read");
      case 4: reader.reals(tensor.float_data); break;
      case 5: reader.integers(tensor.int32_data); break;
      case 6: tensor.string_data.push_back(reader.text()); break;
      case 7: reader.integers(tensor.int64_data); break;
      case 8: tensor.name = reader.text(); break;
      case 9: tensor.raw_data = reader.bytes(); break;
      case 10: reader.reals(tensor.double_data); break;
      case 11: reader.integers(tensor.uint64_data); break;
      case 13: tensor.external_data.push_back(entry_of(reader.message())); break;
      case 14: tensor.external = reader.integer() == 1; break;
    }
  return tensor;
}

SparseTensorProto sparse_tensor_of(WireReader reader) {
  auto tensor = reader.made<SparseTensorProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: tensor.values = tensor_of(reader.message()); break;
      case 2: tensor.indices = tensor_of(reader.message()); break;
      case 3: reader.integers(tensor.dims); break;
    }
  return tensor;
}

DimProto dim_of(WireReader reader) {
  auto dim = reader.made<DimProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: dim.value = reader.integer(); break;
      case 2: dim.param = reader.text(); break;
    }
  if (dim.param == "?") dim.param.clear();  // how some exporters write a size of which nothing is known
  return dim;
}

std::vector<DimProto> shape_of(WireReader reader) {
  std::vector<DimProto> dims;
  while (reader.next())
    if (reader.field() == 1) dims.push_back(dim_of(reader.message()));
  return dims;
}

TypeProto type_of(WireReader reader) {
  auto type = reader.made<TypeProto>();
  while (reader.next()) {
    using Kind = TypeProto::Kind;
    WireReader inner = reader;
    switch (reader.field()) {
      case 1:
      case 8:
        type.kind = reader.field() == 1 ? Kind::Tensor : Kind::SparseTensor;
        inner = reader.message();
        while (inner.next()) switch (inner.field()) {
            case 1: type.element = static_cast<Element>(inner.integer()); break;
            case 2: type.shape = shape_of(inner.message()); break;
          }
        break;
      case 4:
      case 9:
      case 5:
        type.kind = reader.field() == 4 ? Kind::Sequence : reader.field() == 9 ? Kind::Optional : Kind::Map;
        inner = reader.message();
        while (inner.next()) {
          if (inner.field() == (type.kind == Kind::Map ? 2u : 1u))
            type.inner = std::make_shared<TypeProto>(type_of(inner.message()));
          else if (inner.field() == 1) type.element = static_cast<Element>(inner.integer());
        }
        break;
    }
  }
  return type;
}

ValueInfoProto value_info_of(WireReader reader) {
  auto value = reader.made<ValueInfoProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: value.name = reader.text(); break;
      case 2: value.type = type_of(reader.message()); break;
    }
  return value;
}

AttributeProto attribute_of(WireReader reader) {
  using Type = AttributeProto::Type;
  auto attribute = reader.made<AttributeProto>();
  Type implied = Type::Undefined;  // files of the first version of the format do not name the type
  while (reader.next()) {
    const auto is = [&](Type type) { implied = type; };
    switch (reader.field()) {
      case 1: attribute.name = reader.text(); break;
      case 2: attribute.f = reader.real(), is(Type::Float); break;
      case 3: attribute.i = reader.integer(), is(Type::Int); break;
      case 4: attribute.s = reader.text(), is(Type::String); break;
      case 5: attribute.tensors.push_back(tensor_of(reader.message())), is(Type::Tensor); break;
      case 6:
        attribute.graphs.push_back(std::make_shared<GraphProto>(graph_of(reader.message()))), is(Type::Graph);
        break;
      case 7: reader.reals(attribute.floats), is(Type::Floats); break;
      case 8: reader.integers(attribute.ints), is(Type::Ints); break;
      case 9: attribute.strings.push_back(reader.text()), is(Type::Strings); break;
      case 10: attribute.tensors.push_back(tensor_of(reader.message())), is(Type::Tensors); break;
      case 11:
        attribute.graphs.push_back(std::make_shared<GraphProto>(graph_of(reader.message()))), is(Type::Graphs);
        break;
      case 14: attribute.types.push_back(type_of(reader.message())), is(Type::Type); break;
      case 15: attribute.types.push_back(type_of(reader.message())), is(Type::Types); break;
      case 20: attribute.type = static_cast<Type>(reader.integer()); break;
      case 21: attribute.ref_attr_name = reader.text(); break;
      case 22: attribute.sparse_tensors.push_back(sparse_tensor_of(reader.message())), is(Type::SparseTensor); break;
      case 23: attribute.sparse_tensors.push_back(sparse_tensor_of(reader.message())), is(Type::SparseTensors); break;
    }
  }
  if (attribute.type == Type::Undefined) attribute.type = implied;
  return attribute;
}

NodeProto node_of(WireReader reader) {
  auto node = reader.made<NodeProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: node.input.push_back(reader.text()); break;
      case 2: node.output.push_back(reader.text()); break;
      case 3: node.name = reader.text(); break;
      case 4: node.op_type = reader.text(); break;
      case 5: node.attribute.push_back(attribute_of(reader.message())); break;
      case 7: node.domain = reader.text(); break;
      case 8: node.overload = reader.text(); break;
    }
  return node;
}

GraphProto graph_of(WireReader reader) {
  auto graph = reader.made<GraphProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: graph.node.push_back(node_of(reader.message())); break;
      case 2: graph.name = reader.text(); break;
      case 5: graph.initializer.push_back(tensor_of(reader.message())); break;
      case 11: graph.input.push_back(value_info_of(reader.message())); break;
      case 12: graph.output.push_back(value_info_of(reader.message())); break;
      case 13: graph.value_info.push_back(value_info_of(reader.message())); break;
      case 15: graph.sparse_initializer.push_back(sparse_tensor_of(reader.message())); break;
    }
  return graph;
}

FunctionProto function_of(WireReader reader) {
  auto function = reader.made<FunctionProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: function.name = reader.text(); break;
      case 4: function.input.push_back(reader.text()); break;
      case 5: function.output.push_back(reader.text()); break;
      case 6: function.attribute.push_back(reader.text()); break;
      case 7: function.node.push_back(node_of(reader.message())); break;
      case 9: function.opset_import.push_back(operator_set_of(reader.message())); break;
      case 10: function.domain = reader.text(); break;
      case 11: function.attribute_proto.push_back(attribute_of(reader.message())); break;
      case 13: function.overload = reader.text(); break;
    }
  return function;
}

OptionalProto optional_of(WireReader reader);

SequenceProto sequence_of(WireReader reader) {
  auto sequence = reader.made<SequenceProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: sequence.name = reader.text(); break;
      case 2: sequence.elem_type = static_cast<std::int32_t>(reader.integer()); break;
      case 3: sequence.tensors.push_back(tensor_of(reader.message())); break;
      case 5: sequence.sequences.push_back(sequence_of(reader.message())); break;
      case 7: sequence.optionals.push_back(optional_of(reader.message())); break;
    }
  return sequence;
}

OptionalProto optional_of(WireReader reader) {
  auto optional = reader.made<OptionalProto>();
  while (reader.next()) switch (reader.field()) {
      case 1: optional.name = reader.text(); break;
      case 2: optional.elem_type = static_cast<std::int32_t>(reader.integer()); break;
      case 3: optional.tensor.assign(1, tensor_of(reader.message())); break;
      case 5: optional.sequence.assign(1, sequence_of(reader.message())); break;
    }
  return optional;
}

}  // namespace

ModelProto parse_model(Bytes bytes, const std::string& file) {
  ModelProto model;
  bool has_graph = false;
  WireBudget budget(bytes);
  WireReader reader(bytes, file, bytes.data(), budget);
  while (reader.next()) switch (reader.field()) {
      case 1: model.ir_version = reader.integer(); break;
      case 2: model.producer_name = reader.text(); break;
      case 3: model.producer_version = reader.text(); break;
      case 7: model.graph = graph_of(reader.message()), has_graph = true; break;
      case 8: model.opset_import.push_back(operator_set_of(reader.message())); break;
      case 25: model.functions.push_back(function_of(reader.message())); break;
    }
  require<DataError>(has_graph, shown(file), ": holds no graph, so it is no ONNX model");
  return model;
}

TensorProto parse_tensor(Bytes bytes, const std::string& file) {
  WireBudget budget(bytes);
  return tensor_of({bytes, file, bytes.data(), budget});
}
SequenceProto parse_sequence(Bytes bytes, const std::string& file) {
  WireBudget budget(bytes);
  return sequence_of({bytes, file, bytes.data(), budget});
}
OptionalProto parse_optional(Bytes bytes, const std::string& file) {
  WireBudget budget(bytes);
  return optional_of({bytes, file, bytes.data(), budget});
}

}  // namespace kiln::onnx
