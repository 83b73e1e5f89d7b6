// C++ from small graphs: what its text says. That it compiles and computes the same is shown by tests/install (names that
// want to be code) and by generated.sh (the standard's tests).
#include "kiln/onnx/generate/generate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
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
  EXPECT_THAT(generated(bytes).files.at("net.cpp"), HasSubstr(R"({"approximate", "none\"\\\012\?\?/"})"));
}

TEST(Generate, WritesBranchesAsBranchesAndFunctionsInPlace) {
  const std::string source = generated(small_models()[1]).files.at("net.cpp");
  EXPECT_THAT(source, HasSubstr("if (onnx::is_true("));
  EXPECT_THAT(source, HasSubstr("} else {"));
  EXPECT_THAT(source, HasSubstr(".leaky_relu(0.5f)"));
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
    EXPECT_THAT(error.what(), HasSubstr("there is no C++ for these nodes: node 'Gradient_node'"));
  }
}

}  // namespace
}  // namespace kiln::onnx::test
