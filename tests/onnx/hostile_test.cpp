// Files that are wrong on purpose: each is refused with a sentence that says where and why.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kiln/core/error/trace.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/onnx/summary.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/store/temporary.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/peak_memory.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

std::string refusal(const std::string& bytes, const std::string& directory = "") {
  try {
    load(bytes_of(bytes), "m.onnx", directory, cpu);
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "taken";
}

const std::vector<Message> kX = {value("x", {"2"})}, kY = {value("y", {"2"})};

TEST(Hostile, ACycleIsNamed) {
  const std::string bytes = model(
      graph({{node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Neg", {"b"}, {"y"})}, {}, kX, kY}));
  EXPECT_EQ(refusal(bytes),
            "LoadError: m.onnx: node 'Add_node', operator Add, depends on its own result: the graph 'main' "
            "has a cycle");
}

TEST(Hostile, NodesThatStandInAnyOrderRun) {
  const std::string bytes = model(graph({{node("Neg", {"b"}, {"y"}), node("Relu", {"x"}, {"b"})}, {}, kX, kY}));
  const Model taken = load(bytes_of(bytes), "m.onnx", "", cpu);
  const Value x = from_data(TensorData::of<float>({2}, {-1, 2}), cpu);
  EXPECT_EQ(taken.run({{"x", x}})["y"].value().data().to_vector<float>(), (std::vector<float>{0, -2}));
}

TEST(Hostile, WhatNothingMakesIsNamedWithTheNearestName) {
  EXPECT_EQ(
      refusal(model(graph({{node("Relu", {"xs"}, {"y"})}, {}, {value("xx", {"2"})}, kY}))),
      "LoadError: m.onnx: node 'Relu_node', operator Relu, reads 'xs', which no node computes (did you mean 'xx'?)");
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"z"})}, {}, kX, kY}))),
            "LoadError: m.onnx: no node computes the output 'y' of graph 'main'");
}

TEST(Hostile, ANameIsGivenOnce) {
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}, {}, kX, kY}))),
            "LoadError: m.onnx: the value 'y' is computed twice: by nodes 'Relu_node' and 'Neg_node'");
  EXPECT_EQ(refusal(model(graph({{node("Relu", {"x"}, {"x"})}, {}, kX, kX}))),
            "LoadError: m.onnx: the value 'x' of graph 'main' is computed twice");
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
  const Message relu = graph({{node("Relu", {"x"}, {"y"})}, {}, kX, kY});
  EXPECT_EQ(refusal(model(relu, 17, {}, {opset(13)})),
            "LoadError: m.onnx: operator set 'ai.onnx' is imported twice, as version 17 and as version 13");
  EXPECT_NO_THROW(load(bytes_of(model(relu, 17, {}, {opset(17)})), "m.onnx", "", cpu));
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
  const auto with = [](const Message& node, std::int64_t version = 17) {
    return refusal(model(graph({{node}, {}, kX, kY}), version));
  };
  EXPECT_EQ(with(node("Softmax", {"x"}, {"y"}, {attribute("axis", "last")})),
            "LoadError: m.onnx: node 'Softmax_node', operator Softmax: attribute 'axis' is a string, not an integer");
  EXPECT_EQ(with(node("Cast", {"x"}, {"y"}, {attribute("to", "FLOAT")})),
            "LoadError: m.onnx: node 'Cast_node', operator Cast: attribute 'to' is a string, not an integer");
  EXPECT_EQ(with(node("Cast", {"x"}, {"y"}, {attribute("to", "FLOAT")}), 5), "taken");
  EXPECT_EQ(with(node("LpPool", {"x"}, {"y"}, {attribute("p", 2.0f)})),
            "LoadError: m.onnx: node 'LpPool_node', operator LpPool: attribute 'p' is a float, not an integer");
  EXPECT_EQ(
      with(node("Transpose", {"x"}, {"y"}, {attribute("perm", std::int64_t{0})})),
      "LoadError: m.onnx: node 'Transpose_node', operator Transpose: attribute 'perm' is an integer, not integers");
  EXPECT_EQ(with(node("If", {"x"}, {"y"}, {attribute("then_branch", 1.0f)})),
            "LoadError: m.onnx: node 'If_node', operator If: attribute 'then_branch' is a float, not a graph");
  // What no operator knows of is left alone.
  EXPECT_EQ(with(node("Relu", {"x"}, {"y"}, {attribute("colour", "red")})), "taken");
}

TEST(Hostile, LoopsThatNeverEndAreEnded) {
  const Message step = graph({{node("Identity", {"c"}, {"go_on"}), node("Neg", {"s"}, {"next"})},
                              {},
                              {value("i", {}, Element::Int64), value("c", {}, Element::Bool), value("s", {"2"})},
                              {value("go_on", {}, Element::Bool), value("next", {"2"})}});
  const std::string bytes = model(graph({{node("Loop", {"most", "", "x"}, {"y"}, {graph_attribute("body", step)})},
                                         {tensor("most", {}, std::vector<std::int64_t>{INT64_MAX})},
                                         kX,
                                         kY}));
  const Model endless = load(bytes_of(bytes), "m.onnx", "", cpu, {.most_trips = 1000});
  for (int run = 0; run < 2; ++run) try {
      endless.run({{"x", zeros({2}, cpu)}});
      FAIL();
    } catch (const ArgumentError& error) {
      EXPECT_EQ(without_calls(error.what()),
                "ArgumentError: Loop: the loops of this run have made as many trips as LoadOptions::most_trips "
                "allows; does the condition ever become false? (m.onnx: node 'Loop_node', operator Loop)");
    }
}

TEST(Hostile, FunctionsThatNestDeeplyAreRefused) {
  const auto chain = [](int depth) {
    std::vector<Message> functions;
    for (int i = 0; i < depth; ++i) {
      const std::string next = "F" + std::to_string(i + 1);
      functions.push_back(
          function("F" + std::to_string(i), "test", {"a"}, {"b"},
                   {i + 1 == depth ? node("Relu", {"a"}, {"b"}) : node(next, {"a"}, {"b"}, {}, "test")}));
    }
    return refusal(model(graph({{node("F0", {"x"}, {"y"}, {}, "test")}, {}, kX, kY}), 17, functions));
  };
  EXPECT_EQ(chain(256), "taken");
  EXPECT_EQ(chain(20000), "LoadError: m.onnx: functions call each other more than 256 deep, at 'F256'");
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

// Half a million nodes of two bytes, which would be a hundred megabytes.
TEST(Hostile, MessagesOfHardlyAByteDoNotAskForMoreMemoryThanTheFile) {
  for (const int field : {1, 5, 15}) {
    std::string empty;
    for (int i = 0; i < 500'000; ++i) empty += {static_cast<char>(field << 3 | 2), '\0'};
    const std::string bytes = model(Message().raw(empty));
    EXPECT_NE(refusal(bytes).find("messages of hardly a byte each, which would take far more memory than the file"),
              std::string::npos);
    const std::int64_t peak = kiln::test::peak_memory([&] { refusal(bytes); });
    EXPECT_GE(peak, 0);
    EXPECT_LT(peak, 80 * std::ssize(bytes) + (std::int64_t{64} << 20));
  }
}

TEST(Hostile, HugeTensorsOfConstantsAreNotMadeOnLoading) {
  const auto whole = [](std::string_view name, std::int64_t number) {
    return tensor(name, {}, std::vector<std::int64_t>{number});
  };
  const Message size = tensor("size", {1}, std::vector<std::int64_t>{std::int64_t{1} << 45});
  const auto with = [&](const Message& huge, const std::vector<Message>& initializers) {
    return model(graph({{huge, node("ReduceSum", {"h"}, {"y"})}, initializers, {}, {value("y", {})}}));
  };
  const std::string bytes[] = {
      with(node("ConstantOfShape", {"size"}, {"h"}), {size}),
      with(node("Expand", {"one", "size"}, {"h"}), {size, tensor("one", {}, std::vector<float>{1})}),
      with(node("Range", {"from", "to", "by"}, {"h"}), {whole("from", 0), whole("to", INT64_MAX), whole("by", 1)}),
      with(node("Tile", {"two", "size"}, {"h"}), {size, tensor("two", {1}, std::vector<float>{1})}),
  };
  for (const std::string& each : bytes) {
    const std::int64_t before = cpu.memory().in_use;
    const Model taken = load(bytes_of(each), "m.onnx", "", cpu);
    EXPECT_EQ(taken.graph().nodes.size(), 2u);
    EXPECT_LT(cpu.memory().in_use - before, 1 << 20);
  }
}

TEST(Hostile, IntegersAreSizesAndPlacesOrTheNodeIsNamed) {
  const auto with = [](const Message& node, std::int64_t version = 19) {
    return refusal(model(graph({{node}, {}, kX, kY}), version));
  };
  constexpr std::int64_t huge = INT64_MAX;
  EXPECT_EQ(
      with(node("AveragePool", {"x"}, {"y"}, {attribute("kernel_shape", {2, 2}), attribute("dilations", {huge, 1})})),
      "LoadError: m.onnx: node 'AveragePool_node', operator AveragePool: attribute 'dilations' holds "
      "9223372036854775807, not 1 to 2147483647");
  EXPECT_EQ(with(node("ConvTranspose", {"x", "x"}, {"y"}, {attribute("strides", {std::int64_t{1} << 62, 1})})),
            "LoadError: m.onnx: node 'ConvTranspose_node', operator ConvTranspose: attribute 'strides' holds "
            "4611686018427387904, not 1 to 2147483647");
  EXPECT_EQ(
      with(node("Split", {"x"}, {"y", "z"}, {attribute("num_outputs", huge)})),
      "LoadError: m.onnx: node 'Split_node', operator Split: attribute 'num_outputs' is 9223372036854775807, not 1 "
      "to 2147483647");
  EXPECT_EQ(with(node("Softmax", {"x"}, {"y"}, {attribute("axis", INT64_MIN)})),
            "LoadError: m.onnx: node 'Softmax_node', operator Softmax: attribute 'axis' is -9223372036854775808, not "
            "-2147483648 to 2147483647");
  EXPECT_EQ(with(node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{1} << 32)})),
            "LoadError: m.onnx: node 'Cast_node', operator Cast: attribute 'to' is 4294967296, not 0 to 256");
  // Numbers that are data, and ends of slices, are any.
  EXPECT_EQ(with(node("Slice", {"x"}, {"y"}, {attribute("starts", {0}), attribute("ends", {huge})}), 9), "taken");
  EXPECT_EQ(with(node("Constant", {}, {"y"}, {attribute("value_int", INT64_MIN)})), "taken");
}

// What a model gives of a file without inputs: a sentence, or "a result".
std::string outcome(const std::string& bytes, const LoadOptions& options = {}) {
  try {
    for (const Datum& out : load(bytes_of(bytes), "m.onnx", "", cpu, options).run(std::vector<Datum>{}))
      if (out.is_tensor()) (void)out.value().data();
    return "a result";
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
}

TEST(Hostile, NGramsLongerThanThoseOfThePoolAreNotLookedFor) {
  const std::string bytes = model(graph(
      {{node("TfIdfVectorizer", {"x"}, {"y"},
             {attribute("max_gram_length", std::int64_t{INT32_MAX}), attribute("min_gram_length", std::int64_t{2}),
              attribute("max_skip_count", std::int64_t{INT32_MAX}), attribute("mode", "TF"),
              attribute("ngram_counts", {0, 4}), attribute("ngram_indexes", {0, 1, 2, 3, 4, 5, 6}),
              attribute("pool_int64s", {2, 3, 5, 4, 5, 6, 7, 8, 6, 7})})},
       {tensor("x", {1, 8}, std::vector<std::int64_t>{1, 1, 3, 3, 3, 7, 8, 6})},
       {},
       {value("y", {"1", "7"})}}));
  // Pairs of the pool: 5 6, 7 8 and 6 7, of which 7 8 stands there once.
  const Model taken = load(bytes_of(bytes), "m.onnx", "", cpu);
  EXPECT_EQ(taken.run(std::vector<Datum>{})[0].value().data().to_vector<float>(),
            (std::vector<float>{0, 0, 0, 0, 0, 1, 0}));
}

/// The string "0123456789abcdef", doubled so many times.
std::string doubled(int times) {
  std::vector<Message> nodes;
  for (int i = 0; i < times; ++i) {
    const std::string from = text("x", i), to = text("x", i + 1);
    nodes.push_back(node("StringConcat", {from, from}, {to}));
  }
  const Message words = Message().number(1, 1).number(2, 8).text(6, "0123456789abcdef").text(8, "x0");
  return model(graph({nodes, {words}, {}, {value(text("x", times), {"1"}, Element::String)}}), 20);
}

TEST(Hostile, StringsAreCountedByTheMemoryLimit) {
  const MemoryStatistics before = cpu.memory();
  cpu.set_memory_limit(before.in_use + (std::int64_t{1} << 26));
  const Model taken = load(bytes_of(doubled(60)), "m.onnx", "", cpu);  // nothing is made on loading
  EXPECT_EQ(taken.graph().nodes.size(), 60U);
  const std::string said = outcome(doubled(60));
  EXPECT_EQ(
      said.find("MemoryError: StringConcat: 1 times 67108864 bytes on the host are more than the memory limit of "), 0U)
      << said;
  EXPECT_NE(said.find("operator StringConcat)"), std::string::npos) << said;
  EXPECT_EQ(outcome(doubled(10)), "a result");
  cpu.set_memory_limit(before.limit);
}

TEST(Hostile, StringsThatAreGoneCountNoLonger) {
  const MemoryStatistics before = cpu.memory();
  cpu.set_memory_limit(before.in_use + (std::int64_t{1} << 24));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(outcome(doubled(14)), "a result");  // half a megabyte each
  cpu.set_memory_limit(before.limit);
}

Message counting_loop(std::string_view most) {
  const Message step = graph({{node("Identity", {"c"}, {"go_on"}), node("Identity", {"i"}, {"seen"})},
                              {},
                              {value("i", {}, Element::Int64), value("c", {}, Element::Bool)},
                              {value("go_on", {}, Element::Bool), value("seen", {}, Element::Int64)}});
  return node("Loop", {most, ""}, {"y"}, {graph_attribute("body", step)});
}

TEST(Hostile, ARunThatIsAskedToStopsAtTheNextNode) {
  const std::string bytes = model(graph({{counting_loop("most")},
                                         {tensor("most", {}, std::vector<std::int64_t>{std::int64_t{1} << 60})},
                                         {},
                                         {value("y", {"n"}, Element::Int64)}}));
  int asked = 0;
  EXPECT_EQ(outcome(bytes, {.stop = [&] { return ++asked > 1000; }}),
            "ArgumentError: the run was stopped (m.onnx: node 'Identity_node', operator Identity) (m.onnx: node "
            "'Loop_node', operator Loop)");
  EXPECT_EQ(asked, 1001);
}

TEST(Hostile, WhatLoopsKeepIsCountedByTheMemoryLimit) {
  const std::string bytes = model(graph({{counting_loop("most")},
                                         {tensor("most", {}, std::vector<std::int64_t>{std::int64_t{1} << 60})},
                                         {},
                                         {value("y", {"n"}, Element::Int64)}}));
  const MemoryStatistics before = cpu.memory();
  cpu.set_memory_limit(before.in_use + (std::int64_t{1} << 24));
  const std::string said = outcome(bytes);
  cpu.set_memory_limit(before.limit);
  EXPECT_EQ(said.find("MemoryError: "), 0U) << said;
}

TEST(Hostile, StepsOfScansAndLayersAreCountedAsTrips) {
  const Message step = graph({{node("Identity", {"part"}, {"seen"})}, {}, {value("part", {})}, {value("seen", {})}});
  const std::vector<Message> initializers = {
      tensor("one", {1, 1, 1}, std::vector<float>{1}),
      tensor("size", {3}, std::vector<std::int64_t>{std::int64_t{1} << 40, 1, 1}),
      tensor("w", {1, 4, 1}, std::vector<float>(4, 1)), tensor("p", {1, 3}, std::vector<float>(3, 1))};
  const Message expand = node("Expand", {"one", "size"}, {"x"});
  const Message scan =
      node("Scan", {"x"}, {"y"}, {attribute("num_scan_inputs", std::int64_t{1}), graph_attribute("body", step)});
  const Message lstm =
      node("LSTM", {"x", "w", "w", "", "", "", "", "p"}, {"y"}, {attribute("hidden_size", std::int64_t{1})});
  for (const Message& each : {scan, lstm}) {
    const std::string said = outcome(model(graph({{expand, each}, initializers, {}, {value("y", {"n", "1", "1"})}})));
    EXPECT_NE(said.find("as many trips as LoadOptions::most_trips allows"), std::string::npos) << said;
  }
}

TEST(Hostile, DescribingAFileMakesNothing) {
  const auto why = [](const std::string& bytes) {
    const TemporaryFile file("m.onnx");
    write_text(file.path, bytes);
    const Summary summary = summarize(file.path, cpu);
    EXPECT_FALSE(summary.flops.has_value());
    return summary.why_no_flops;
  };
  const MemoryStatistics before = cpu.memory();
  EXPECT_EQ(why(doubled(60)).find("StringConcat works on strings, which a description does not compute"), 0U);
  const std::string endless = model(graph({{counting_loop("most")},
                                           {tensor("most", {}, std::vector<std::int64_t>{std::int64_t{1} << 60})},
                                           {},
                                           {value("y", {"n"}, Element::Int64)}}));
  EXPECT_NE(why(endless).find("the model runs more steps than a description can follow"), std::string::npos);
  const TemporaryFile file("m.onnx");
  write_text(
      file.path,
      model(
          graph({{node("Relu", {"x"}, {"y"})}, {}, {value("x", {"1099511627776"})}, {value("y", {"1099511627776"})}})));
  EXPECT_TRUE(summarize(file.path, cpu).flops.has_value());
  EXPECT_LT(cpu.memory().peak - before.peak, 1 << 22);
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
  const Model taken = load(bytes_of(adds(external("weights.bin", "4"))), "m.onnx", file.directory, cpu);
  const Value x = from_data(TensorData::of<float>({2}, {10, 20}), cpu);
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
  EXPECT_NE(with("-8", "8").find("which is not a size"), std::string::npos);
  EXPECT_NE(with("12", "8").find("takes 8 bytes from byte 12 of 'weights.bin', which has 16"), std::string::npos);
  EXPECT_NE(with("17", "0").find("begins at byte 17"), std::string::npos);
  EXPECT_NE(with("0", "9223372036854775807").find("takes 9223372036854775807 bytes"), std::string::npos);
  EXPECT_NE(with("0", "16").find("which take 8 bytes, but 16 are there"), std::string::npos);
  EXPECT_NE(refusal(adds(external("missing.bin")), file.directory).find("IoError: cannot read"), std::string::npos);
}

}  // namespace
}  // namespace kiln::onnx::test
