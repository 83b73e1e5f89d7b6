// The operators of com.microsoft against figures of ONNX Runtime (microsoft_figures.py).
#include <gtest/gtest.h>

#include "kiln/onnx/model.hpp"
#include "tests/onnx/model_writer.hpp"

namespace kiln::onnx::test {
namespace {

const Device kDevice = Device::cpu();

struct Figure {
  Element element = Element::Undefined;  // Undefined: absent
  std::vector<std::int64_t> shape;
  std::vector<double> values;

  Datum datum() const {
    const Shape size(shape.begin(), shape.end());
    return from_data(TensorData::of<double>(size, std::span(values)).to(dtype_of(element)), kDevice);
  }
};
struct Case {
  std::string op;
  std::vector<Message> attributes;
  std::vector<Figure> inputs, outputs;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
#include "tests/onnx/microsoft_figures.inc"
  };
  return list;
}

Message type_of(const std::string& name, const Figure& figure) {
  const Message tensor = Message().number(1, static_cast<std::int64_t>(figure.element));
  return Message().text(1, name).message(2, Message().message(1, tensor));
}

TEST(Microsoft, OperatorsAgreeWithOnnxRuntime) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.op);
    Message node, graph;
    NamedInputs inputs;
    for (std::size_t i = 0; i < each.inputs.size(); ++i) {
      const std::string name = text("i", i);
      const bool given = each.inputs[i].element != Element::Undefined;
      node.text(1, given ? name : "");
      if (!given) continue;
      inputs[name] = each.inputs[i].datum();
      graph.message(11, type_of(name, each.inputs[i]));
    }
    for (std::size_t i = 0; i < each.outputs.size(); ++i) {
      const bool given = each.outputs[i].element != Element::Undefined;
      node.text(2, given ? text("o", i) : "");
      if (given) graph.message(12, type_of(text("o", i), each.outputs[i]));
    }
    node.text(3, each.op + "_node").text(4, each.op).text(7, "com.microsoft");
    for (const Message& attribute : each.attributes) node.message(5, attribute);
    graph.message(1, node).text(2, "main");
    const std::string bytes =
        Message().number(1, 8).message(7, graph).message(8, opset(17)).message(8, opset(1, "com.microsoft")).bytes();
    const Outputs out = load(bytes_of(bytes), "m.onnx", "", kDevice).run(inputs);
    for (std::size_t i = 0; i < each.outputs.size(); ++i) {
      if (each.outputs[i].element == Element::Undefined) continue;
      const Datum& actual = out[text("o", i)];
      ASSERT_EQ(actual.element(), each.outputs[i].element);
      // Where a number falls between two steps, ONNX Runtime's tables may round the other way.
      const bool steps = actual.element() == Element::Uint8 || actual.element() == Element::Int8;
      const Tolerance tolerance = steps ? Tolerance{.relative = 0, .absolute = 1} : Tolerance{2e-5, 2e-5};
      EXPECT_EQ(difference(actual.value().data().to(DType::F64), each.outputs[i].datum().value().data().to(DType::F64),
                           tolerance),
                "")
          << "output " << i;
    }
  }
}

TEST(Microsoft, SizesThatDoNotFitAreRefused) {
  const std::vector<std::pair<std::string, std::vector<Message>>> wrong = {
      {"MatMulNBits",
       {attribute("K", std::int64_t{64}), attribute("N", std::int64_t{3}), attribute("block_size", std::int64_t{16})}},
      {"MatMulNBits", {attribute("K", std::int64_t{1} << 62), attribute("N", std::int64_t{1} << 62)}},
      {"MatMulNBits",
       {attribute("bits", std::int64_t{3}), attribute("K", std::int64_t{32}), attribute("N", std::int64_t{3})}},
      {"Attention", {attribute("num_heads", std::int64_t{0})}},
      {"Attention",
       {attribute("num_heads", std::int64_t{2}),
        attribute("qkv_hidden_sizes", {std::int64_t{1} << 62, std::int64_t{1} << 62, 4})}},
      {"EmbedLayerNormalization", {}},
      {"RotaryEmbedding", {}},
      {"QLinearConcat", {}},
      {"QLinearGlobalAveragePool", {}},
      {"SkipLayerNormalization", {}},
      {"FusedMatMul", {attribute("transBatchA", std::int64_t{1})}},
  };
  for (const auto& [op, attributes] : wrong) {
    Message node, graph;
    std::vector<Datum> inputs;
    for (const char* name : {"a", "b", "c"}) {
      node.text(1, name);
      graph.message(11, type_of(name, {Element::Float, {}, {}}));
      inputs.emplace_back(ones({2, 4}, kDevice));
    }
    node.text(2, "y").text(4, op).text(7, "com.microsoft");
    for (const Message& each : attributes) node.message(5, each);
    graph.message(1, node).text(2, "main").message(12, type_of("y", {Element::Float, {}, {}}));
    const std::string bytes =
        Message().number(1, 8).message(7, graph).message(8, opset(17)).message(8, opset(1, "com.microsoft")).bytes();
    const Model model = load(bytes_of(bytes), "m.onnx", "", kDevice);
    EXPECT_THROW(model.run(inputs)[0].value().data(), Error) << op;
  }
}

}  // namespace
}  // namespace kiln::onnx::test
