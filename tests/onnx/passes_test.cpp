// What simplification makes of graphs as exporters spell them out: the same numbers by fewer nodes; and what shape
// inference says, against the shapes that come out.
#include "kiln/onnx/passes/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/onnx/model.hpp"
#include "kiln/onnx/passes/shapes.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

using Floats = std::vector<float>;
Message number(std::string_view name, float value) { return tensor(name, {}, Floats{value}); }
Message whole(std::string_view name, const std::vector<std::int64_t>& values) {
  Message made = Message().number(1, static_cast<std::int64_t>(values.size())).number(2, 7).text(8, name);
  for (const std::int64_t value : values) made.number(7, value);
  return made;
}
Message weights(std::string_view name, Sizes sizes, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  const Value values = normal({count}, 0, 0.5, cpu, DType::F32, Key(seed));
  return tensor(name, sizes, values.data().to_vector<float>());
}
Value noise(const Shape& shape) { return normal(shape, 0, 1, cpu, DType::F32, Key(3)); }

Strings operators_of(const Model& model) {
  Strings list;
  for (const Node& node : model.graph().nodes) list.push_back(node.op);
  return list;
}

/// The operators that are left; what comes out is the same with and without.
Strings simplified(const GraphParts& parts, const std::vector<Value>& xs, double tolerance = 2e-5) {
  const std::string bytes = model(graph(parts));
  const Model plain = load(bytes_of(bytes), "m.onnx", "", cpu, {.simplify = false});
  const Model simple = load(bytes_of(bytes), "m.onnx", "", cpu);
  for (const Value& x : xs) {
    const Outputs expected = plain.run({Datum(x)}), actual = simple.run({Datum(x)});
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(difference(actual[i].value().data(), expected[i].value().data(), {tolerance, tolerance}), "");
  }
  return operators_of(simple);
}

TEST(Passes, GelusAreFound) {
  const Message half = number("half", 0.5f), one = number("one", 1), root = number("root", 1.41421354f);
  const std::vector<Message> in{value("x", {"n", "4"})}, out{value("y", {"n", "4"})};
  EXPECT_EQ(simplified({{node("Div", {"x", "root"}, {"a"}), node("Erf", {"a"}, {"b"}), node("Add", {"b", "one"}, {"c"}),
                         node("Mul", {"x", "c"}, {"d"}), node("Mul", {"d", "half"}, {"y"})},
                        {half, one, root},
                        in,
                        out},
                       {noise({3, 4})}),
            Strings{"Gelu"});
  EXPECT_EQ(simplified({{node("Mul", {"x", "half"}, {"h"}), node("Mul", {"inverse", "x"}, {"a"}),
                         node("Erf", {"a"}, {"b"}), node("Add", {"one", "b"}, {"c"}), node("Mul", {"h", "c"}, {"y"})},
                        {half, one, number("inverse", 0.70710677f)},
                        in,
                        out},
                       {noise({3, 4})}),
            Strings{"Gelu"});
  EXPECT_EQ(
      simplified({{node("Pow", {"x", "three"}, {"p"}), node("Mul", {"p", "cubic"}, {"q"}),
                   node("Add", {"x", "q"}, {"r"}), node("Mul", {"r", "slope"}, {"s"}), node("Tanh", {"s"}, {"t"}),
                   node("Add", {"t", "one"}, {"c"}), node("Mul", {"x", "half"}, {"h"}), node("Mul", {"h", "c"}, {"y"})},
                  {half, one, number("three", 3), number("cubic", 0.044715f), number("slope", 0.7978845f)},
                  in,
                  out},
                 {noise({3, 4})}),
      Strings{"Gelu"});
  // Another number, and it is none.
  EXPECT_EQ(simplified({{node("Div", {"x", "root"}, {"a"}), node("Erf", {"a"}, {"b"}), node("Add", {"b", "one"}, {"c"}),
                         node("Mul", {"x", "c"}, {"d"}), node("Mul", {"d", "half"}, {"y"})},
                        {half, one, number("root", 1.5f)},
                        in,
                        out},
                       {noise({3, 4})})
                .size(),
            5u);
}

TEST(Passes, NumbersThatAreQuantisedAndBackAreRounded) {
  const auto codes = [](std::string_view name, Element type, int value) {
    return Message().number(2, static_cast<std::int64_t>(type)).number(5, value).text(8, name);
  };
  const auto there_and_back = [](const std::vector<Message>& constants, std::string_view scale) {
    return GraphParts{
        {node("QuantizeLinear", {"x", "s", "z"}, {"q"}), node("DequantizeLinear", {"q", scale, "z"}, {"y"})},
        constants,
        {value("x", {"n", "6"})},
        {value("y", {"n", "6"})}};
  };
  const Message s = number("s", 0.01f), t = number("t", 0.02f);
  const std::vector<Value> xs{noise({9, 6}), full({1, 6}, 1e30, cpu), full({1, 6}, -1e30, cpu)};
  EXPECT_EQ(simplified(there_and_back({s, codes("z", Element::Uint8, 100)}, "s"), xs, 0), Strings{"FakeQuantize"});
  EXPECT_EQ(simplified(there_and_back({s, codes("z", Element::Int8, -5)}, "s"), xs, 0), Strings{"FakeQuantize"});
  EXPECT_EQ(simplified(there_and_back({s, t, codes("z", Element::Uint8, 100)}, "t"), xs, 0).size(), 2u);
  EXPECT_EQ(simplified(there_and_back({s, codes("z", Element::Int16, 7)}, "s"), xs, 0).size(), 2u);
}

TEST(Passes, SquaresAreProducts) {
  const auto power = [](const Message& exponent) {
    return GraphParts{{node("Pow", {"x", "e"}, {"y"})}, {exponent}, {value("x", {"n", "6"})}, {value("y", {"n", "6"})}};
  };
  const std::vector<Value> xs{noise({9, 6}), full({1, 6}, 1e30, cpu), full({1, 6}, 1e-30, cpu)};
  EXPECT_EQ(simplified(power(number("e", 2)), xs, 0), Strings{"Mul"});
  EXPECT_EQ(simplified(power(tensor("e", {}, std::vector<std::int64_t>{2})), xs, 0), Strings{"Mul"});
  EXPECT_EQ(simplified(power(number("e", 2.001f)), {full({1, 6}, 3, cpu)}), Strings{"Pow"});
  EXPECT_EQ(simplified(power(tensor("e", {1, 1, 1}, Floats{2})), {noise({9, 6})}), Strings{"Pow"});
}

TEST(Passes, AnglesAreFound) {
  const auto angle_of = [](float right) {
    return GraphParts{{node("Mul", {"v", "w"}, {"u"}), node("Div", {"v", "u"}, {"d"}), node("Atan", {"d"}, {"a"}),
                       node("Add", {"a", "right"}, {"b"}), node("Sub", {"a", "right"}, {"c"}),
                       node("Greater", {"v", "zero"}, {"up"}), node("Where", {"up", "b", "c"}, {"e"}),
                       node("Less", {"u", "zero"}, {"left"}), node("Where", {"left", "e", "a"}, {"y"})},
                      {weights("w", {6}, 1), number("right", right), number("zero", 0)},
                      {value("v", {"n", "6"})},
                      {value("y", {"n", "6"})}};
  };
  EXPECT_EQ(simplified(angle_of(3.14159274f), {noise({9, 6})}), (Strings{"Mul", "Atan2"}));
  EXPECT_EQ(simplified(angle_of(3), {noise({9, 6})}).size(), 9u);
  // As it is spelled out there is no angle at the origin.
  const std::string bytes = model(graph(angle_of(3.14159274f)));
  EXPECT_EQ(load(bytes_of(bytes), "m.onnx", "", cpu).run({Datum(zeros({1, 6}, cpu))})[0].value().data().at(0), 0);
}

TEST(Passes, NormsAreFound) {
  const Message two = number("two", 2), epsilon = number("e", 1e-5f);
  const std::vector<Message> in{value("x", {"n", "t", "6"})}, out{value("y", {"n", "t", "6"})};
  const std::vector<Value> xs{noise({2, 3, 6}), noise({1, 1, 6})};
  const Message mean = node("ReduceMean", {"x"}, {"m"}, {attribute("axes", {-1})});
  EXPECT_EQ(simplified({{mean, node("Sub", {"x", "m"}, {"d"}), node("Pow", {"d", "two"}, {"s"}),
                         node("ReduceMean", {"s"}, {"v"}, {attribute("axes", {-1})}), node("Add", {"v", "e"}, {"ve"}),
                         node("Sqrt", {"ve"}, {"r"}), node("Div", {"d", "r"}, {"q"}), node("Mul", {"q", "w"}, {"qw"}),
                         node("Add", {"qw", "b"}, {"y"})},
                        {two, epsilon, weights("w", {6}, 1), weights("b", {6}, 2)},
                        in,
                        out},
                       xs),
            Strings{"LayerNormalization"});
  EXPECT_EQ(simplified({{node("Mul", {"x", "x"}, {"s"}), node("ReduceMean", {"s"}, {"v"}, {attribute("axes", {-1})}),
                         node("Add", {"v", "e"}, {"ve"}), node("Sqrt", {"ve"}, {"r"}), node("Reciprocal", {"r"}, {"i"}),
                         node("Mul", {"x", "i"}, {"q"}), node("Mul", {"w", "q"}, {"y"})},
                        {epsilon, weights("w", {6}, 1)},
                        in,
                        out},
                       xs),
            Strings{"RMSNormalization"});
  // Over another dimension it is neither.
  EXPECT_EQ(simplified({{node("Mul", {"x", "x"}, {"s"}), node("ReduceMean", {"s"}, {"v"}, {attribute("axes", {1})}),
                         node("Add", {"v", "e"}, {"ve"}), node("Sqrt", {"ve"}, {"r"}), node("Div", {"x", "r"}, {"q"}),
                         node("Mul", {"w", "q"}, {"y"})},
                        {epsilon, weights("w", {6}, 1)},
                        in,
                        out},
                       xs)
                .size(),
            6u);
}

// Heads as PyTorch's exporter has them, with sizes that are computed.
GraphParts attention_parts(bool masked) {
  GraphParts parts;
  parts.inputs = {value("x", {"batch", "time", "8"})};
  parts.outputs = {value("y", {"batch", "time", "8"})};
  parts.initializers = {whole("zero", {0}), whole("first", {1}), whole("heads", {2, 4}), whole("flat", {0, 0, 8}),
                        number("root", 2)};
  const auto add = [&](Message node) { parts.nodes.push_back(std::move(node)); };
  add(node("Shape", {"x"}, {"shape"}));
  add(node("Gather", {"shape", "zero"}, {"batch"}));
  add(node("Gather", {"shape", "first"}, {"time"}));
  add(node("Concat", {"batch", "time", "heads"}, {"split"}, {attribute("axis", std::int64_t{0})}));
  for (const std::string which : {"q", "k", "v"}) {
    parts.initializers.push_back(weights("w" + which, {8, 8}, static_cast<std::uint64_t>(which[0])));
    add(node("MatMul", {"x", "w" + which}, {which + "1"}));
    add(node("Reshape", {which + "1", "split"}, {which + "2"}));
    const bool keys = which == "k";
    add(node("Transpose", {which + "2"}, {which + "3"},
             {keys ? attribute("perm", {0, 2, 3, 1}) : attribute("perm", {0, 2, 1, 3})}));
  }
  add(node("MatMul", {"q3", "k3"}, {"scores"}));
  add(node("Div", {"scores", "root"}, {"scaled"}));
  if (masked) {
    parts.initializers.push_back(weights("mask", {1, 5}, 9));
    add(node("Add", {"scaled", "mask"}, {"biased"}));
  }
  add(node("Softmax", {masked ? "biased" : "scaled"}, {"shares"}, {attribute("axis", std::int64_t{-1})}));
  add(node("MatMul", {"shares", "v3"}, {"o1"}));
  add(node("Transpose", {"o1"}, {"o2"}, {attribute("perm", {0, 2, 1, 3})}));
  add(node("Reshape", {"o2", "flat"}, {"y"}));
  return parts;
}

TEST(Passes, AttentionIsFound) {
  const Strings plain = simplified(attention_parts(false), {noise({2, 5, 8}), noise({1, 7, 8})});
  EXPECT_EQ(std::count(plain.begin(), plain.end(), "Attention"), 1);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), "Softmax"), 0);
  GraphParts masked = attention_parts(true);
  masked.inputs = {value("x", {"batch", "5", "8"})};
  const Strings with_mask = simplified(masked, {noise({2, 5, 8})});
  EXPECT_EQ(std::count(with_mask.begin(), with_mask.end(), "Attention"), 1);
  // A mask whose size is not known to be that of the keys may broadcast otherwise.
  const Strings unknown = simplified(attention_parts(true), {noise({2, 5, 8})});
  EXPECT_EQ(std::count(unknown.begin(), unknown.end(), "Attention"), 0);
}

TEST(Passes, TransposesMeet) {
  const std::vector<Message> in{value("x", {"a", "b", "c"})}, out{value("y", {"a", "b", "c"})};
  const auto turn = [](std::string_view from, std::string_view to, Sizes order) {
    return node("Transpose", {from}, {to}, {attribute("perm", order)});
  };
  EXPECT_EQ(simplified({{turn("x", "p", {1, 2, 0}), node("Relu", {"p"}, {"q"}), node("Exp", {"q"}, {"r"}),
                         turn("r", "s", {2, 0, 1}), node("Neg", {"s"}, {"y"})},
                        {},
                        in,
                        out},
                       {noise({2, 3, 4})}),
            (Strings{"Relu", "Exp", "Neg"}));
  EXPECT_EQ(simplified({{turn("x", "p", {1, 2, 0}), turn("p", "q", {1, 2, 0}), node("Neg", {"q"}, {"y"})}, {}, in, out},
                       {noise({2, 3, 4})}),
            (Strings{"Transpose", "Neg"}));
}

TEST(Passes, SizesThatAreKnownAreConstants) {
  const Strings left =
      simplified({{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "last"}, {"n"}), node("Mul", {"n", "n"}, {"nn"}),
                   node("Concat", {"open", "nn"}, {"to"}, {attribute("axis", std::int64_t{0})}),
                   node("Reshape", {"x", "to"}, {"y"})},
                  {whole("last", {2}), whole("open", {-1})},
                  {value("x", {"batch", "3", "3"})},
                  {value("y", {"batch", "9"})}},
                 {noise({2, 3, 3}), noise({4, 3, 3})});
  EXPECT_EQ(left, Strings{"Reshape"});
}

TEST(Passes, SizesThatMayChangeStay) {
  // Of the size of a batch nothing is folded, however it is computed.
  const Strings left = simplified({{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "first"}, {"n"}),
                                    node("Concat", {"n", "open"}, {"to"}, {attribute("axis", std::int64_t{0})}),
                                    node("Reshape", {"x", "to"}, {"y"})},
                                   {whole("first", {0}), whole("open", {-1})},
                                   {value("x", {"batch", "3", "3"})},
                                   {value("y", {"batch", "9"})}},
                                  {noise({2, 3, 3}), noise({1, 3, 3})});
  EXPECT_EQ(left.size(), 4u);
}

std::string shape_text(const std::optional<PartialShape>& shape) {
  if (!shape) return "anything";
  std::string out;
  for (const Dim& dim : *shape)
    out += (out.empty() ? "" : " ") + (dim.value ? text(*dim.value) : dim.param.empty() ? "?" : dim.param);
  return out;
}

TEST(Shapes, AreThoseThatComeOut) {
  const std::string bytes = model(graph(attention_parts(false)));
  const Model loaded = load(bytes_of(bytes), "m.onnx", "", cpu, {.simplify = false});
  Graph all = loaded.graph();
  const Shapes shapes = infer_shapes(all);
  std::map<std::string, std::string> by_name;
  for (std::size_t v = 0; v < all.values.size(); ++v)
    by_name[all.values[v].name] = shape_text(shapes[static_cast<int>(v)]);
  EXPECT_EQ(by_name["split"], "4");
  EXPECT_EQ(by_name["q2"], "batch time 2 4");
  EXPECT_EQ(by_name["k3"], "batch 2 4 time");
  EXPECT_EQ(by_name["scores"], "batch 2 time time");
  EXPECT_EQ(by_name["y"], "batch time 8");
  // Every size that is said is that of a run.
  all.outputs.clear();
  for (const Node& node : all.nodes) all.outputs.push_back(node.outputs[0]);
  find_last_uses(all);
  const std::map<std::string, std::int64_t> sizes{{"batch", 3}, {"time", 5}};
  const std::vector<Datum> values = run_graph(all, {Datum(noise({3, 5, 8}))}, nullptr, {cpu, "m.onnx"});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<PartialShape>& said = shapes[all.outputs[i]];
    ASSERT_TRUE(said) << all.nodes[i].name;
    const Shape& shape = values[i].value().shape();
    ASSERT_EQ(static_cast<int>(said->size()), shape.size());
    for (int d = 0; d < shape.size(); ++d) {
      const Dim& dim = (*said)[static_cast<std::size_t>(d)];
      EXPECT_EQ(dim.value ? *dim.value : sizes.at(dim.param), shape[d]) << described(all.nodes[i]);
    }
  }
}

TEST(Shapes, WhatTheFileSaysOfOthersIsNotBelieved) {
  Message lying = graph({{node("Relu", {"x"}, {"y"}), node("NonZero", {"y"}, {"z"})},
                         {},
                         {value("x", {"n", "4"})},
                         {value("z", {"2", "3"}, Element::Int64)}});
  lying.message(13, value("y", {"7", "7"}));
  const Model loaded = load(bytes_of(model(lying)), "m.onnx", "", cpu, {.simplify = false});
  const Shapes shapes = infer_shapes(loaded.graph());
  EXPECT_EQ(shape_text(shapes[loaded.graph().nodes[0].outputs[0]]), "n 4");
  EXPECT_EQ(shape_text(shapes[loaded.graph().nodes[1].outputs[0]]), "anything");
}

}  // namespace
}  // namespace kiln::onnx::test
