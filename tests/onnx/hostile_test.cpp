// Files that are wrong on purpose: each is refused with a sentence that says where and why.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kiln/onnx/model.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/store/temporary.hpp"

namespace kiln::onnx::test {
namespace {

const Device kDevice = Device::cpu();

std::string refusal(const std::string& bytes, const std::string& directory = "") {
  try {
    load(bytes_of(bytes), "m.onnx", directory, kDevice);
  } catch (const Error& error) { return std::string(error.what()); }
  return "taken";
}

const std::vector<Message> kX = {value("x", {"2"})}, kY = {value("y", {"2"})};

TEST(Hostile, ACycleIsNamed) {
  const std::string bytes = model(
      graph({{node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Neg", {"b"}, {"y"})}, {}, kX, kY}));
  EXPECT_EQ(refusal(bytes),
            "LoadError: m.onnx: node 'Add_node', operator Add, needs what is made of its own result: the graph 'main' "
            "has a cycle");
}

TEST(Hostile, NodesThatStandInAnyOrderRun) {
  const std::string bytes = model(graph({{node("Neg", {"b"}, {"y"}), node("Relu", {"x"}, {"b"})}, {}, kX, kY}));
  const Model taken = load(bytes_of(bytes), "m.onnx", "", kDevice);
  const Value x = from_data(TensorData::of<float>({2}, {-1, 2}), kDevice);
  EXPECT_EQ(taken.run({{"x", x}})["y"].value().data().to_vector<float>(), (std::vector<float>{0, -2}));
}

TEST(Hostile, WhatNothingMakesIsNamedWithTheNearestName) {
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"xs"}, {"y"})}, {}, {value("xx", {"2"})}, kY}))),
            "LoadError: m.onnx: node 'Relu_node', operator Relu, reads 'xs', which nothing makes (did you mean 'xx'?)");
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"z"})}, {}, kX, kY}))),
            "LoadError: m.onnx: nothing makes the output 'y' of graph 'main'");
}

TEST(Hostile, ANameIsGivenOnce) {
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}, {}, kX, kY}))),
            "LoadError: m.onnx: the value 'y' is made twice: by nodes 'Relu_node' and 'Neg_node'");
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"x"})}, {}, kX, kX}))),
            "LoadError: m.onnx: the value 'x' of graph 'main' is made twice");
}

TEST(Hostile, AllUnknownOperatorsAreListedWithTheirNodes) {
  const std::string bytes = model(graph(
      {{node("Frobnicate", {"x"}, {"a"}), node("Frobnicate", {"a"}, {"b"}), node("Warp", {"b"}, {"y"}, {}, "test")},
       {},
       kX,
       kY}));
  EXPECT_EQ(refusal(bytes),
            "LoadError: m.onnx: Kiln does not have these operators: ai.onnx 17 Frobnicate (nodes 'Frobnicate_node', "
            "'Frobnicate_node'); test 1 Warp (node 'Warp_node')");
}

TEST(Hostile, OperatorSetsAreThoseThatAreKnown) {
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"y"})}, {}, kX, kY}), 99)),
            "LoadError: m.onnx: operator set ai.onnx 99 is newer than the newest that Kiln knows, 28");
  EXPECT_EQ(refusal(model(graph({{node("Upsample", {"x"}, {"y"})}, {}, kX, kY}), 11)),
            "LoadError: m.onnx: Kiln does not have these operators: ai.onnx 11 Upsample (node 'Upsample_node')");
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"y"}, {}, "elsewhere")}, {}, kX, kY}))),
            "LoadError: m.onnx: node 'Relu_node', operator elsewhere.Relu: the operator set of domain 'elsewhere' is "
            "not imported");
}

TEST(Hostile, FunctionsThatCallThemselvesAreRefused) {
  const std::vector<Message> functions = {function("F", "test", {"a"}, {"b"}, {node("G", {"a"}, {"b"}, {}, "test")}),
                                          function("G", "test", {"a"}, {"b"}, {node("F", {"a"}, {"b"}, {}, "test")})};
  EXPECT_EQ(refusal(model(graph({{node("F", {"x"}, {"y"}, {}, "test")}, {}, kX, kY}), 17, functions)),
            "LoadError: m.onnx: function 'F' calls itself");
}

TEST(Hostile, FunctionsThatMultiplyAreBounded) {
  std::vector<Message> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    const std::vector<Message> twice =
        i == 39 ? std::vector<Message>{node("Relu", {"a"}, {"b"})}
                : std::vector<Message>{node(next, {"a"}, {"m"}, {}, "test"), node(next, {"m"}, {"b"}, {}, "test")};
    functions.push_back(function("F" + std::to_string(i), "test", {"a"}, {"b"}, twice));
  }
  EXPECT_EQ(refusal(model(graph({{node("F0", {"x"}, {"y"}, {}, "test")}, {}, kX, kY}), 17, functions)),
            "LoadError: m.onnx: more than 1000000 nodes, those of functions counted once for each call");
}

TEST(Hostile, AnAttributeOfAnotherTypeIsNamed) {
  const std::string bytes = model(graph({{node("Softmax", {"x"}, {"y"}, {attribute("axis", "last")})}, {}, kX, kY}));
  const Model taken = load(bytes_of(bytes), "m.onnx", "", kDevice);
  try {
    taken.run({{"x", zeros({2}, kDevice)}});
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "ArgumentError: Softmax: attribute 'axis' is a string, not an integer (m.onnx: node 'Softmax_node', "
                 "operator Softmax)");
  }
}

TEST(Hostile, ShapesThatLieAreRefused) {
  const auto with = [](const Message& initializer) {
    return refusal(model(graph({{node("Add", {"x", "w"}, {"y"})}, {initializer}, kX, kY})));
  };
  EXPECT_EQ(with(tensor("w", {3}, std::vector<float>{1, 2})),
            "DataError: m.onnx: tensor 'w' has the shape [3] and type float, which take 12 bytes, but 8 are there");
  EXPECT_EQ(with(tensor("w", {-3}, std::vector<float>{1, 2})),
            "DataError: m.onnx: tensor 'w' has a dimension of size -3");
  EXPECT_EQ(with(tensor("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, std::vector<float>{1})),
            "DataError: m.onnx: tensor 'w' has the shape [1099511627776, 1099511627776], which has more than 2^63 - 1 "
            "elements");
  EXPECT_EQ(with(tensor("w", {std::int64_t{1} << 60}, std::vector<float>{1}))
                .find("DataError: m.onnx: tensor 'w' has the shape"),
            0u);
}

TEST(Hostile, AFewBytesDoNotAskForAllMemoryThereIs) {
  const Message sparse = Message()
                             .message(1, tensor("w", {1}, std::vector<float>{1}))
                             .message(2, tensor("", {1}, std::vector<std::int64_t>{0}))
                             .number(3, std::int64_t{1} << 50);
  Message parts = graph({{node("Add", {"x", "w"}, {"y"})}, {}, kX, kY});
  parts.message(15, sparse);
  EXPECT_EQ(refusal(model(parts)),
            "DataError: m.onnx: sparse tensor 'w' has the shape [1125899906842624] and only 1 values");
}

TEST(Hostile, ValuesOfSubgraphsHaveNamesOfTheirOwn) {
  const Message inner = graph({{node("Neg", {"x"}, {"x2"}), node("Relu", {"x2"}, {"a"})}, {}, {}, {value("a", {"2"})}});
  const Message shadows = graph({{node("Neg", {"x"}, {"c"})}, {}, {}, {value("c", {"2"})}});
  const auto with = [&](const Message& other) {
    return refusal(model(graph(
        {{node("If", {"c"}, {"y"}, {graph_attribute("then_branch", inner), graph_attribute("else_branch", other)})},
         {},
         {value("c", {}, Element::Bool), value("x", {"2"})},
         kY})));
  };
  EXPECT_EQ(with(shadows),
            "LoadError: m.onnx: the value 'c' of graph 'main' has the name of a value of the graph around it");
  EXPECT_EQ(with(inner), "taken");
}

TEST(Hostile, NestedTooDeepIsDamaged) {
  Message inner = graph({{node("Relu", {"x"}, {"a"})}, {}, {}, {value("a", {"2"})}});
  for (int i = 0; i < 100; ++i)
    inner = graph({{node("If", {"c"}, {"a"}, {graph_attribute("then_branch", inner)})}, {}, {}, {value("a", {"2"})}});
  EXPECT_NE(refusal(model(inner)).find("messages are nested more than 64 deep"), std::string::npos);
}

// ---- external data ------------------------------------------------------------------------------------------------
Message external(std::string_view location, std::string_view offset = "0", std::string_view length = "8") {
  const auto entry = [](std::string_view key, std::string_view value) { return Message().text(1, key).text(2, value); };
  return Message()
      .number(1, 2)
      .number(2, 1)
      .text(8, "w")
      .message(13, entry("location", location))
      .message(13, entry("offset", offset))
      .message(13, entry("length", length))
      .number(14, 1);
}
std::string adds(const Message& weight) { return model(graph({{node("Add", {"x", "w"}, {"y"})}, {weight}, kX, kY})); }

TEST(External, DataLieBesideTheModel) {
  const TemporaryFile file("weights.bin");
  const float numbers[] = {9, 1, 2};
  write_text(file.path, std::string_view(reinterpret_cast<const char*>(numbers), sizeof numbers));
  const Model taken = load(bytes_of(adds(external("weights.bin", "4"))), "m.onnx", file.directory, kDevice);
  const Value x = from_data(TensorData::of<float>({2}, {10, 20}), kDevice);
  EXPECT_EQ(taken.run({{"x", x}})[0].value().data().to_vector<float>(), (std::vector<float>{11, 22}));
}

TEST(External, DataOutsideOfTheDirectoryAreRefused) {
  const TemporaryFile inside("model/weights.bin"), outside("secret.bin");
  std::filesystem::create_directories(inside.directory + "/model");
  write_text(outside.path, std::string(64, 'x'));
  write_text(inside.directory + "/secret.bin", std::string(64, 'x'));
  std::filesystem::create_symlink(outside.path, inside.directory + "/model/link.bin");
  const auto with = [&](std::string_view location) {
    return refusal(adds(external(location)), inside.directory + "/model");
  };
  for (const std::string location :
       {"../secret.bin", "a/../../secret.bin", "link.bin", outside.path.c_str(), "..", "."})
    EXPECT_NE(with(location).find(location == "." ? "cannot read" : "which is outside of the model's directory"),
              std::string::npos)
        << location << ": " << with(location);
}

TEST(External, OffsetsAndLengthsAreThoseOfTheFile) {
  const TemporaryFile file("weights.bin");
  write_text(file.path, std::string(16, 'x'));
  const auto with = [&](std::string_view offset, std::string_view length) {
    return refusal(adds(external("weights.bin", offset, length)), file.directory);
  };
  EXPECT_NE(with("-8", "8").find("which is no size"), std::string::npos);
  EXPECT_NE(with("12", "8").find("takes 8 bytes from byte 12 of 'weights.bin', which has 16"), std::string::npos);
  EXPECT_NE(with("17", "0").find("begins at byte 17"), std::string::npos);
  EXPECT_NE(with("0", "9223372036854775807").find("takes 9223372036854775807 bytes"), std::string::npos);
  EXPECT_NE(with("0", "16").find("which take 8 bytes, but 16 are there"), std::string::npos);
  EXPECT_NE(refusal(adds(external("missing.bin")), file.directory).find("IoError: cannot read"), std::string::npos);
}

}  // namespace
}  // namespace kiln::onnx::test
