// C++ from small graphs: what its text says. That it compiles and computes the same is shown by tests/install (names that
// want to be code) and by generated.sh (the standard's tests).
#include "kiln/onnx/generate/generate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "kiln/onnx/generate/code.hpp"
#include "kiln/onnx/model.hpp"
#include "tests/onnx/bodies.hpp"
#include "tests/onnx/small_models.hpp"
#include "tests/store/temporary.hpp"

namespace kiln::onnx::test {
namespace {

using testing::HasSubstr;
using testing::Not;

GeneratedCode generated(const std::string& bytes, const GenerateOptions& options = {}) {
  const TemporaryFile file("net.onnx");
  write_file_atomically(file.path, bytes);
  GenerateOptions named = options;
  if (named.name.empty()) named.name = "net";
  return generate(file.path, named);
}

Message named(Message node, std::string_view name) { return node.text(3, name); }  // of two names the last one counts

std::string block_of(const std::string& at) { return "/layer/layer." + at + "/"; }

// Two blocks, each relu(x w + b) v, in numbered scopes; w of the second is [3, width].
std::string two_blocks(std::int64_t width) {
  const auto ones = [](std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count), 1); };
  return model(graph({{named(node("MatMul", {"x", "w0"}, {"a0"}), block_of("0") + "fc/MatMul"),
                       named(node("Add", {"a0", "b0"}, {"c0"}), block_of("0") + "fc/Add"),
                       named(node("Relu", {"c0"}, {"r0"}), block_of("0") + "Relu"),
                       named(node("MatMul", {"r0", "v0"}, {"mid"}), block_of("0") + "head/MatMul"),
                       named(node("MatMul", {"mid", "w1"}, {"a1"}), block_of("1") + "fc/MatMul"),
                       named(node("Add", {"a1", "b1"}, {"c1"}), block_of("1") + "fc/Add"),
                       named(node("Relu", {"c1"}, {"r1"}), block_of("1") + "Relu"),
                       named(node("MatMul", {"r1", "v1"}, {"scores"}), block_of("1") + "head/MatMul")},
                      {tensor("w0", {3, 3}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}),
                       tensor("b0", {3}, std::vector<float>{1, 2, 3}), tensor("v0", {3, 3}, ones(9)),
                       tensor("w1", {3, width}, ones(3 * width)), tensor("b1", {width}, ones(width)),
                       tensor("v1", {width, 3}, ones(3 * width))},
                      {value("x", {"batch", "3"})},
                      {value("scores", {"batch", "m"})}}));
}

TEST(Code, IsPrintedWithTheParenthesesThatItNeeds) {
  using cpp::Code;
  const Code a = Code::word("a"), b = Code::word("b"), sum = Code::infix(a, "+", b);
  EXPECT_EQ(cpp::print(sum), "a + b");
  EXPECT_EQ(cpp::print(Code::infix(sum, "*", a)), "(a + b) * a");
  EXPECT_EQ(cpp::print(Code::method(sum, "relu")), "(a + b).relu()");
  EXPECT_EQ(cpp::print(Code::call("f", {a, Code::infix(a, "-", sum), Code::list({sum})})),
            "f(a, a - (a + b), {a + b})");
  EXPECT_EQ(cpp::print(Code::item(Code::member(a, "list"), 2)), "a.list[2]");
}

TEST(Code, HasLinesThatDeclareAssignAndBranch) {
  using cpp::Code;
  const Code a = Code::word("a"), b = Code::word("b");
  const cpp::Line branch{.code = a, .is_branch = true, .yes = {{"", {b}, Code::literal(std::int64_t{1})}}};
  const Code body = Code::lambda("int a", {{"int", {b}, Code::verbatim("")}, branch}, {b});
  EXPECT_EQ(cpp::print(body),
            "[&](int a) -> std::vector<onnx::Datum> {\n  int b;\n  if (a) {\n    b = 1;\n  } else {\n  }\n"
            "  return {b};\n}");
  EXPECT_EQ(cpp::print({{"const auto", {a, b}, Code::call("f", {})}}), "const auto [a, b] = f();\n");
  EXPECT_EQ(cpp::print({{"const T", {a}, Code::call("T", {b})}}), "const T a(b);\n");
  std::set<std::string> words;
  cpp::add_words(Code::call("ns::f", {Code::method(a, "g"), Code::literal("text")}), words);
  EXPECT_EQ(words, (std::set<std::string>{"ns", "f", "a"}));
}

TEST(Generate, MakesModulesOfLayersAndOneStructOfScopesThatAreTheSame) {
  const GeneratedCode code = generated(two_blocks(3));
  const std::string& header = code.files.at("net.hpp");
  EXPECT_THAT(
      header,
      HasSubstr("struct LayerBlock {\n  nn::Linear fc, head;\n\n  Tensor<2> forward(const Tensor<2>& x) const;"));
  EXPECT_THAT(header, HasSubstr("std::vector<LayerBlock> layer;"));
  EXPECT_THAT(header, HasSubstr("/// x [batch, 3] -> scores [batch, m]"));
  const std::string& source = code.files.at("net.cpp");
  EXPECT_THAT(source, HasSubstr("return head.forward(fc.forward(x).relu());"));
  EXPECT_THAT(source, HasSubstr("for (const LayerBlock& block : layer)"));
  EXPECT_THAT(source, HasSubstr("nn::LinearConfig{.in = 3, .out = 3, .bias = false}.init(device)"));
}

TEST(Generate, GivesAConfigWhatDiffersBetweenScopes) {
  const GeneratedCode code = generated(two_blocks(5));
  EXPECT_THAT(code.files.at("net.hpp"), HasSubstr("struct LayerBlockConfig {\n  std::int64_t fc_out;"));
  EXPECT_THAT(code.files.at("net.cpp"), HasSubstr("LayerBlockConfig{.fc_out = 5}.init(device)"));
}

TEST(Generate, NamesWeightsByFieldsAndTurnsThemAsModulesHaveThem) {
  const GeneratedCode code = generated(two_blocks(5));
  ASSERT_TRUE(code.weights.count("layer.1.fc.weight"));
  EXPECT_EQ(code.weights.at("layer.1.fc.weight").shape(), Shape({5, 3}));
  EXPECT_EQ(code.weights.at("layer.0.fc.weight").data().to_vector<float>(),
            (std::vector<float>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
  EXPECT_EQ(code.weights.at("layer.0.fc.bias").data().to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

TEST(Generate, WritesTheSameBytesForTheSameFile) {
  for (const std::string& bytes : small_models()) EXPECT_EQ(generated(bytes).files, generated(bytes).files);
}

TEST(Generate, LetsNoNameOrStringBecomeCode) {
  const std::string hostile = "x\"); std::abort(); //\n#error *";
  const std::string bytes =
      model(graph({{named(node("LeakyRelu", {hostile}, {"class"}, {attribute("alpha", 0.5f)}), "/operator/" + hostile),
                    node("Custom", {"class"}, {"int"}, {}, "test")},
                   {},
                   {value(hostile, {"*/ n"})},
                   {value("int", {"n"})}}),
            17, {function("Custom", "test", {"a"}, {"b"}, {node("Elu", {"a"}, {"b"})})});
  const GeneratedCode code = generated(bytes);
  for (const auto& [name, text] : code.files) {
    EXPECT_THAT(text, Not(HasSubstr("std::abort"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("#error"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("*/"))) << name;
  }
  EXPECT_THAT(code.files.at("net.cpp"), HasSubstr("const Tensor<1>& x_std_abort"));
}

TEST(Generate, EscapesStringsOfAttributes) {
  const std::string bytes = model(graph({{node("Gelu", {"x"}, {"y"}, {attribute("approximate", "none\"\\\n?\?/")})},
                                         {},
                                         {value("x", {"n"})},
                                         {value("y", {"n"})}}),
                                  20);
  EXPECT_THAT(generated(bytes, {.untried = true}).files.at("net.cpp"),
              HasSubstr(R"({"approximate", "none\"\\\012\?\?/"})"));
}

TEST(Generate, WritesBranchesAsBranchesAndFunctionsInPlace) {
  const std::string source = generated(small_models()[1]).files.at("net.cpp");
  EXPECT_THAT(source, HasSubstr("if (onnx::is_true("));
  EXPECT_THAT(source, HasSubstr("} else {"));
  EXPECT_THAT(source, HasSubstr(".leaky_relu(0.5f)"));
}

// That the code computes this too, is shown by generated.sh.
TEST(Generate, BodyModelsGiveWhatIsMultipliedOut) {
  for (const BodyModel& each : body_models())
    for (const bool simplify : {false, true}) {
      SCOPED_TRACE(each.name);
      const Model loaded = load(bytes_of(each.bytes), each.name, "", Device::cpu(), {.simplify = simplify});
      for (const BodyModel::Set& set : each.sets)
        EXPECT_EQ(difference(loaded.run(set.inputs)[0].value().data(), set.outputs[0].value().data()), "");
    }
}

std::vector<std::vector<float>> numbers_of(const std::map<std::string, Value>& weights) {
  std::vector<std::vector<float>> list;
  for (const auto& [name, value] : weights) list.push_back(value.data().to_vector<float>());
  std::sort(list.begin(), list.end());
  return list;
}

TEST(Generate, TellsConstantsOfBodiesApartByWhereTheyStand) {
  const auto matrix = [](int seed) {  // as bodies.hpp has them
    std::vector<float> made;
    for (int i = 0; i < 25; ++i) made.push_back(static_cast<float>((i * i * 3 + i * seed) % 7 - 3));
    return made;
  };
  const auto turned = [](const std::vector<float>& of) {
    std::vector<float> made;
    for (std::size_t i = 0; i < 25; ++i) made.push_back(of[i % 5 * 5 + i / 5]);
    return made;
  };
  const std::vector<float> first = matrix(1), second = matrix(2), third = matrix(4);
  std::map<std::string, std::vector<std::vector<float>>> expected = {
      {"branches_unnamed", {first, second}},
      {"branches_same_name", {first, second}},
      {"branches_initializers", {first, second}},
      {"loops", {first, second}},
      {"branch_in_a_loop", {third, second}},
      {"scans", {std::vector<float>(5, 0), first, second}},
      {"function_twice", {turned(first), turned(second)}},
      {"absent_inside", {third}}};
  for (auto& [name, weights] : expected) std::sort(weights.begin(), weights.end());
  for (const BodyModel& each : body_models()) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(numbers_of(generated(each.bytes).weights), expected.at(each.name));
  }
}

TEST(Generate, MakesExamplesThatRunEveryBranch) {
  for (const BodyModel& each : body_models()) {
    SCOPED_TRACE(each.name);
    const GeneratedCode code = generated(each.bytes);
    EXPECT_THAT(code.unreached, testing::IsEmpty());
    const bool chooses = each.name.starts_with("branch") || each.name == "absent_inside";
    EXPECT_EQ(code.examples.size(), chooses ? 2U : 1U);
    const Model loaded = load(bytes_of(each.bytes), each.name, "", Device::cpu());
    for (const Example& example : code.examples)
      EXPECT_EQ(difference(loaded.run(example.inputs)[0].value().data(), example.outputs[0].value().data()), "");
  }
}

// A branch that is taken where a mean is above 7, which numbers drawn at random never have, and those tried do.
TEST(Generate, TriesInputsUntilABranchIsTakenAndSaysWhichIsNot) {
  const auto with_threshold = [](float threshold) {
    const Message yes = graph({{node("Neg", {"x"}, {"t"})}, {}, {}, {value("t", {"4"})}});
    const Message no = graph({{node("Relu", {"x"}, {"e"})}, {}, {}, {value("e", {"4"})}});
    return model(
        graph({{node("ReduceMean", {"x"}, {"mean"}, {attribute("keepdims", std::int64_t{0})}),
                node("Greater", {"mean", "limit"}, {"c"}),
                node("If", {"c"}, {"y"}, {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)})},
               {tensor("limit", {}, std::vector<float>{threshold})},
               {value("x", {"4"})},
               {value("y", {"4"})}}));
  };
  EXPECT_EQ(generated(with_threshold(7)).examples.size(), 2U);
  EXPECT_THAT(generated(with_threshold(7)).unreached, testing::IsEmpty());
  EXPECT_THAT(generated(with_threshold(1e9f)).unreached,
              testing::ElementsAre("the then_branch of node 'If_node', operator If"));
}

TEST(Generate, RefusesWhatForwardWouldThrowAt) {
  const std::string bytes = model(graph({{node("MatMul", {"x", "w"}, {"y"})},
                                         {tensor("w", {3, 1}, std::vector<float>{1, 2, 3})},
                                         {value("x", {"n", "m"})},
                                         {value("y", {"n", "1"})}}));
  try {
    generated(bytes);
    FAIL() << "nothing was thrown";
  } catch (const LoadError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("the model does not run on examples that are made up, and neither would its code: "));
    EXPECT_THAT(error.what(), HasSubstr("node 'MatMul_node', operator MatMul"));
    EXPECT_THAT(error.what(), HasSubstr("--size"));
  }
  EXPECT_EQ(generated(bytes, {.sizes = {{"m", 3}}}).examples.size(), 1U);
  EXPECT_THAT(generated(bytes, {.untried = true}).why_no_outputs, HasSubstr("MatMul"));
}

TEST(Generate, WritesNoEmbeddingWhereRowsCountFromTheEnd) {
  const auto rows = [](std::int64_t row) {
    return model(graph({{node("Add", {"i", "offset"}, {"place"}), node("Gather", {"w", "place"}, {"y"})},
                        {tensor("w", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}),
                         tensor("offset", {1}, std::vector<std::int64_t>{row})},
                        {value("i", {"1"}, Element::Int64)},
                        {value("y", {"1", "2"})}}));
  };
  EXPECT_THAT(generated(rows(0)).files.at("net.hpp"), HasSubstr("nn::Embedding"));
  EXPECT_THAT(generated(rows(-3)).files.at("net.hpp"), Not(HasSubstr("nn::Embedding")));
}

TEST(Generate, NamesAllNodesThatHaveNoCpp) {
  const std::string bytes =
      Message()
          .number(1, 8)
          .message(7, graph({{node("Gradient", {"x"}, {"g"},
                                   {Message().text(1, "xs").text(9, "x").number(20, 8), attribute("y", "y")},
                                   "ai.onnx.preview.training"),
                              node("Mul", {"x", "x"}, {"y"})},
                             {},
                             {value("x", {})},
                             {value("y", {}), value("g", {})}}))
          .message(8, opset(17))
          .message(8, opset(1, "ai.onnx.preview.training"))
          .bytes();
  try {
    generated(bytes);
    FAIL() << "nothing was thrown";
  } catch (const LoadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("these nodes cannot be written as C++: node 'Gradient_node'"));
  }
}

}  // namespace
}  // namespace kiln::onnx::test
