// Simplification inside: bodies of loops, branches and functions, and weights that stay quantised.
#include <gtest/gtest.h>

#include "kiln/onnx/model.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

using Floats = std::vector<float>;

Value vector_of(const Floats& numbers) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers), cpu);
}
Floats floats_of(const Datum& datum) { return datum.value().data().to_vector<float>(); }

Strings operators_of(const Graph& graph) {
  Strings list;
  for (const Node& node : graph.nodes) list.push_back(node.op);
  return list;
}
const Graph& inner(const Model& model, const char* attribute) {
  return *model.graph().nodes.back().attributes.find(attribute)->second.graphs.at(0);
}

TEST(InnerPasses, BodiesOfLoopsKnowTheConstantsAround) {
  // s = s * w + 2 * 3, three times; w is a parameter, which may be trained.
  const Message body = graph(
      {{node("Mul", {"two", "three"}, {"six"}), node("Identity", {"s"}, {"same"}), node("Mul", {"same", "w"}, {"sw"}),
        node("Add", {"sw", "six"}, {"next"}), node("Identity", {"c"}, {"go_on"}), node("Exp", {"w"}, {"unread"})},
       {},
       {value("i", {}, Element::Int64), value("c", {}, Element::Bool), value("s", {"1"})},
       {value("go_on", {}, Element::Bool), value("next", {"n"})}});
  const std::string bytes =
      model(graph({{node("Loop", {"times", "", "x"}, {"y"}, {graph_attribute("body", body)})},
                   {tensor("times", {}, std::vector<std::int64_t>{3}), tensor("two", {}, Floats{2}),
                    tensor("three", {}, Floats{3}), tensor("w", {2}, Floats{1, -1})},
                   {value("x", {"n"})},
                   {value("y", {"n"})}}));
  Model simple = load(bytes_of(bytes), "m.onnx", "", cpu);
  EXPECT_EQ(operators_of(inner(simple, "body")), (Strings{"Mul", "Add", "Identity"}));
  // What the body declares of its state, one element, is not what comes: two.
  const Model plain = load(bytes_of(bytes), "m.onnx", "", cpu, {.simplify = false});
  for (const Model* model : {&plain, static_cast<const Model*>(&simple)})
    EXPECT_EQ(floats_of(model->run({Datum(vector_of({1, 1}))})[0]), (Floats{19, 5}));
  auto& parameter = std::get<nn::Param<1>>(std::get<0>(simple.layers()).at("w"));
  parameter = parameter.with_value(Tensor<1>(vector_of({0, 2})));
  EXPECT_EQ(floats_of(simple.run({Datum(vector_of({1, 1}))})[0]), (Floats{6, 50}));
}

TEST(InnerPasses, BranchesReadWhatIsAroundThem) {
  const Message yes = graph({{node("Identity", {"x"}, {"a"}), node("Neg", {"a"}, {"t"})}, {}, {}, {value("t", {"n"})}});
  const Message no = graph({{node("Identity", {"x"}, {"e"})}, {}, {}, {value("e", {"n"})}});
  const std::string bytes = model(
      graph({{node("Relu", {"r"}, {"x"}),
              node("If", {"c"}, {"y"}, {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)})},
             {},
             {value("r", {"n"}), value("c", {}, Element::Bool)},
             {value("y", {"n"})}}));
  const Model simple = load(bytes_of(bytes), "m.onnx", "", cpu);
  EXPECT_EQ(operators_of(inner(simple, "then_branch")), Strings{"Neg"});
  EXPECT_EQ(operators_of(inner(simple, "else_branch")), Strings{"Identity"});
  for (const double condition : {1.0, 0.0}) {
    const Outputs out = simple.run({{"r", vector_of({-1, 2})}, {"c", full({}, condition, cpu, DType::Bool)}});
    EXPECT_EQ(floats_of(out[0]), condition != 0 ? (Floats{0, -2}) : (Floats{0, 2}));
  }
}

TEST(InnerPasses, FunctionsAreSimplifiedToo) {
  const Message one = Message().text(1, "value").message(5, tensor("", {2}, Floats{1, 1})).number(20, 4);
  const std::vector<Message> functions = {
      function("Shift", "test", {"a"}, {"b"},
               {node("Constant", {}, {"one"}, {one}), node("Add", {"one", "one"}, {"two"}),
                node("Identity", {"a"}, {"same"}), node("Add", {"same", "two"}, {"b"})})};
  const std::string bytes = model(
      graph({{node("Shift", {"x"}, {"y"}, {}, "test")}, {}, {value("x", {"2"})}, {value("y", {"2"})}}), 17, functions);
  const Model simple = load(bytes_of(bytes), "m.onnx", "", cpu);
  EXPECT_EQ(operators_of(*simple.graph().nodes.back().function), Strings{"Add"});
  EXPECT_EQ(floats_of(simple.run({Datum(vector_of({1, 2}))})[0]), (Floats{3, 4}));
}

TEST(InnerPasses, QuantisedWeightsStayThat) {
  // The fake quantisation of PyTorch and ONNX Runtime: x to 8 bits and back, times a weight of int8 with a scale a column.
  const Message weight =
      Message().number(1, 3).number(1, 2).number(2, 3).text(8, "w").text(9, "\x05\xfd\x64\x9c\x01\x7f");
  const Message zeros = Message().number(1, 2).number(2, 3).text(8, "wz").text(9, std::string_view("\x00\x02", 2));
  const Message middle = Message().number(2, 2).text(8, "xz").text(9, "\x80");
  const std::string bytes = model(
      graph({{node("QuantizeLinear", {"x", "xs", "xz"}, {"q"}), node("DequantizeLinear", {"q", "xs", "xz"}, {"xd"}),
              node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, {attribute("axis", std::int64_t{1})}),
              node("MatMul", {"xd", "wd"}, {"y"})},
             {weight, zeros, middle, tensor("xs", {}, Floats{0.05f}), tensor("ws", {2}, Floats{0.5, 0.25})},
             {value("x", {"n", "3"})},
             {value("y", {"n", "2"})}}));
  const Model model = load(bytes_of(bytes), "m.onnx", "", cpu);
  EXPECT_EQ(operators_of(model.graph()), (Strings{"FakeQuantize", "DequantizeLinear", "MatMul"}));
  int found = 0;
  for (const auto& [number, constant] : model.graph().constants) {
    const bool is_weight = model.graph().values[static_cast<std::size_t>(number)].name == "w";
    found += is_weight && constant.value().dtype() == DType::I8;
    EXPECT_FALSE(constant.value().numel() == 6 && constant.value().dtype() == DType::F32);
  }
  EXPECT_EQ(found, 1);
  const Value x = from_data(TensorData::of<float>({2, 3}, {0.51f, -1.26f, 2, 10, -10, 0.123f}), cpu);
  // What ONNX Runtime 1.32 gives; 10 and -10 are cut to 6.35 and -6.4.
  const Floats expected{-60.25f, 93.75f, -304.075f, 158.3875f};
  for (int run = 0; run < 3; ++run) {  // walked, captured, replayed
    const Floats actual = floats_of(model.run({Datum(x)})[0]);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4);
  }
}

}  // namespace
}  // namespace kiln::onnx::test
