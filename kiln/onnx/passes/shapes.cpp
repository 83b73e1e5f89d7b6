#include "kiln/onnx/passes/shapes.hpp"

#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostNumbers = 64;

void declare(Shapes& shapes, int value, const TypeProto& type) {
  if (type.kind != TypeProto::Kind::Tensor || !type.shape) return;
  PartialShape shape = *type.shape;
  for (Dim& dim : shape)
    if (dim.value && *dim.value <= 0) dim = {};  // run() takes any size for those
  shapes.of[static_cast<std::size_t>(value)] = std::move(shape);
}

void add_constant(Shapes& shapes, int value, const Datum& constant) {
  if (!constant.is_tensor()) return;
  const Value& tensor = constant.value();
  PartialShape shape;
  for (const std::int64_t size : tensor.shape()) shape.push_back(known(size));
  shapes.of[static_cast<std::size_t>(value)] = std::move(shape);
  if (tensor.dtype() != DType::I64 || constant.is_string() || tensor.rank() > 1 || tensor.numel() > kMostNumbers)
    return;
  PartialShape& numbers = shapes.numbers[value];
  for (const std::int64_t number : tensor.data().to_vector<std::int64_t>()) numbers.push_back(known(number));
}

}  // namespace

const std::optional<PartialShape>& Shapes::operator[](int value) const {
  static const std::optional<PartialShape> kNothing;
  return value == kAbsent ? kNothing : of[static_cast<std::size_t>(value)];
}

Shapes infer_shapes(const Graph& graph) {
  Shapes shapes;
  shapes.of.resize(graph.values.size());
  for (const auto* list : {&graph.inputs, &graph.replaceable})
    for (const int input : *list)
      if (!graph.is_inner) declare(shapes, input, graph[input].type);
  for (const auto& [value, constant] : graph.constants)
    if (constant_of(graph, value)) add_constant(shapes, value, constant);
  for (const Node& node : graph.nodes) {
    const NodeShapes here{node, shapes};
    if (!node.row || has_subgraphs(node) || here.out() == kAbsent) continue;
    MaybeShape& shape = shapes.of[static_cast<std::size_t>(here.out())];
    shape = shape_of_result(here);
    MaybeShape numbers = node.row->traits.numbers ? node.row->traits.numbers(here) : MaybeShape();
    if (!numbers || numbers->size() > kMostNumbers) continue;
    if (!shape) shape = PartialShape{known(static_cast<std::int64_t>(numbers->size()))};
    shapes.numbers[here.out()] = std::move(*numbers);
  }
  return shapes;
}

}  // namespace kiln::onnx
