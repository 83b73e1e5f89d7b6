// Loading and running: by name and by position, any batch, control flow, functions, several threads, training.
#include "kiln/onnx/model.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "kiln/core/error/trace.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module/freeze.hpp"
#include "kiln/optim.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

Model loaded(const std::string& bytes, const Device& device = cpu, const LoadOptions& options = {}) {
  return load(bytes_of(bytes), "m.onnx", "", device, options);
}
Value vector_of(std::vector<float> numbers) {
  const Shape shape{static_cast<std::int64_t>(numbers.size())};
  return from_data(TensorData::of<float>(shape, std::span<const float>(numbers)), cpu);
}
std::vector<float> floats_of(const Datum& datum) { return datum.value().data().to_vector<float>(); }

/// y = x w + b for x [batch, 2].
std::string linear() {
  return model(graph({{node("Gemm", {"x", "w.weight", "b"}, {"y"})},
                      {tensor("w.weight", {2, 1}, std::vector<float>{2, 3}), tensor("b", {1}, std::vector<float>{1})},
                      {value("x", {"batch", "2"})},
                      {value("y", {"batch", "1"})}}));
}
Value rows(std::int64_t count) { return reshape(arange(0, 2 * count, 1, cpu, DType::F32), {count, 2}); }

TEST(Model, RunsByNameAndByPositionWithAnyBatch) {
  const Model model = loaded(linear());
  EXPECT_EQ(floats_of(model.run({{"x", rows(2)}})["y"]), (std::vector<float>{4, 14}));
  EXPECT_EQ(floats_of(model.run({Datum(rows(3))})[0]), (std::vector<float>{4, 14, 24}));
  EXPECT_EQ(model.inputs().at(0).name, "x");
  EXPECT_EQ(model.inputs().at(0).type.shape->at(0).param, "batch");
}

template <class E>
std::string error_of(const Model& model, const NamedInputs& inputs) {
  try {
    model.run(inputs);
  } catch (const E& error) { return std::string(without_calls(error.what())); }
  return "none";
}

TEST(Model, InputsThatDoNotFitAreNamed) {
  const Model model = loaded(linear());
  EXPECT_EQ(error_of<ArgumentError>(model, {}), "ArgumentError: m.onnx: input 'x' is missing");
  EXPECT_EQ(error_of<ArgumentError>(model, {{"x", rows(1)}, {"z", rows(1)}}), "ArgumentError: m.onnx has no input 'z'");
  EXPECT_EQ(error_of<ArgumentError>(Model(), {}), "ArgumentError: this onnx::Model was not loaded: it holds no graph");
  EXPECT_EQ(error_of<DTypeError>(model, {{"x", cast(rows(1), DType::F64)}}),
            "DTypeError: m.onnx: input 'x' is of type float, not double");
  EXPECT_EQ(error_of<ShapeError>(model, {{"x", vector_of({1, 2})}}),
            "ShapeError: m.onnx: input 'x' has 2 dimensions, not 1: [2]");
  EXPECT_EQ(error_of<ShapeError>(model, {{"x", zeros({1, 3}, cpu)}}),
            "ShapeError: m.onnx: input 'x' has the size 2 in dimension 1, not 3: [1, 3]");
}

TEST(Model, ASymbolIsOneSizeWhereverItStands) {
  const Model both = loaded(model(
      graph({{node("Add", {"a", "b"}, {"y"})}, {}, {value("a", {"n"}), value("b", {"n"})}, {value("y", {"n"})}})));
  EXPECT_EQ(error_of<ShapeError>(both, {{"a", vector_of({1, 2})}, {"b", vector_of({1})}}),
            "ShapeError: m.onnx: input 'b' has the size 1 in dimension 0, 'n', which input 'a' has 2 of");
}

TEST(Model, AQuestionMarkIsNoName) {
  const std::string bytes =
      model(graph({{node("Relu", {"x"}, {"y"})}, {}, {value("x", {"?", "?"})}, {value("y", {"?", "?"})}}));
  EXPECT_EQ(load(bytes_of(bytes), "m.onnx", "", cpu).run({zeros({2, 3}, cpu)})[0].value().shape(), Shape({2, 3}));
}

TEST(Model, ErrorsOfANodeNameIt) {
  const Model sum = loaded(model(
      graph({{node("Add", {"a", "b"}, {"y"})}, {}, {value("a", {"n"}), value("b", {"m"})}, {value("y", {"n"})}})));
  EXPECT_NE(error_of<ShapeError>(sum, {{"a", vector_of({1, 2})}, {"b", vector_of({1, 2, 3})}})
                .find("(m.onnx: node 'Add_node', operator Add)"),
            std::string::npos);
}

TEST(Model, GivesTheValuesThatAreAskedFor) {
  const std::string bytes = model(graph(
      {{node("Exp", {"x"}, {"inner"}), node("Neg", {"inner"}, {"y"})}, {}, {value("x", {"1"})}, {value("y", {"1"})}}));
  const Model cut = loaded(bytes, cpu, {.outputs = {"inner"}});
  EXPECT_EQ(cut.graph().nodes.size(), 1u);
  EXPECT_EQ(floats_of(cut.run({{"x", vector_of({0})}})["inner"]), (std::vector<float>{1}));
  EXPECT_THROW(loaded(bytes, cpu, {.outputs = {"iner"}}), ArgumentError);
}

TEST(Model, ABatchMayBeFreed) {
  const std::string bytes = model(graph({{node("Neg", {"x"}, {"y"})}, {}, {value("x", {"1"})}, {value("y", {"1"})}}));
  EXPECT_THROW(loaded(bytes).run({Datum(vector_of({1, 2}))}), ShapeError);
  const Model freed = loaded(bytes, cpu, {.free_batch = true});
  EXPECT_EQ(floats_of(freed.run({Datum(vector_of({1, 2}))})[0]), (std::vector<float>{-1, -2}));
}

TEST(Model, ADefaultMayBeReplaced) {
  const Model sum = loaded(model(graph({{node("Add", {"x", "w"}, {"y"})},
                                        {tensor("w", {1}, std::vector<float>{5})},
                                        {value("x", {"n"}), value("w", {"1"})},
                                        {value("y", {"n"})}})));
  EXPECT_EQ(floats_of(sum.run({{"x", vector_of({1})}})[0]), (std::vector<float>{6}));
  EXPECT_EQ(floats_of(sum.run({{"x", vector_of({1})}, {"w", vector_of({7})}})[0]), (std::vector<float>{8}));
}

TEST(Model, ALoopCarriesStateAndStacksWhatItScans) {
  // Fibonacci's numbers below 20: state (a, b), scanned a; the body sees an outer value.
  const Message body =
      graph({{node("Add", {"a", "b"}, {"next"}), node("Less", {"next", "limit"}, {"go_on"}),
              node("Identity", {"b"}, {"b_out"}), node("Identity", {"next"}, {"next_out"}),
              node("Identity", {"a"}, {"seen"})},
             {},
             {value("i", {}, Element::Int64), value("c", {}, Element::Bool), value("a", {}), value("b", {})},
             {value("go_on", {}, Element::Bool), value("b_out", {}), value("next_out", {}), value("seen", {})}});
  const Model loop =
      loaded(model(graph({{node("Loop", {"", "", "one", "one"}, {"last", "", "all"}, {graph_attribute("body", body)})},
                          {tensor("one", {}, std::vector<float>{1})},
                          {value("limit", {})},
                          {value("last", {}), value("all", {"n"})}})));
  const Outputs out = loop.run({{"limit", full({}, 20, cpu)}});
  EXPECT_EQ(floats_of(out["all"]), (std::vector<float>{1, 1, 2, 3, 5, 8}));
  EXPECT_EQ(floats_of(out["last"]), (std::vector<float>{13}));
}

TEST(Model, FunctionsSeeTheAttributesOfTheirCall) {
  const Message slope = Message().text(1, "alpha").text(21, "slope").number(20, 1);
  const std::vector<Message> functions = {
      function("Bend", "test", {"a"}, {"b"}, {node("LeakyRelu", {"a"}, {"b"}, {slope})}, {"slope"})};
  const Model bent = loaded(model(
      graph({{node("Bend", {"x"}, {"y"}, {attribute("slope", 0.5f)}, "test"), node("Bend", {"x"}, {"z"}, {}, "test")},
             {},
             {value("x", {"n"})},
             {value("y", {"n"}), value("z", {"n"})}}),
      17, functions));
  const Outputs out = bent.run({{"x", vector_of({-2, 2})}});
  EXPECT_EQ(floats_of(out["y"]), (std::vector<float>{-1, 2}));
  EXPECT_EQ(floats_of(out["z"]), (std::vector<float>{-2 * 0.01f, 2}));  // LeakyRelu's own default
}

TEST(Model, SimplifyingMergesBatchNormsAndRemovesWhatDoesNothing) {
  const std::string bytes = model(
      graph({{node("Conv", {"x", "w"}, {"c"}, {attribute("pads", {1, 1, 1, 1})}),
              node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"n"}), node("Dropout", {"n"}, {"d"}),
              node("Identity", {"d"}, {"e"}), node("Relu", {"e"}, {"y"}), node("Neg", {"s"}, {"unread"})},
             {tensor("w", {2, 1, 3, 3}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 2, -3, 4, -5, 6, -7, 8, -9}),
              tensor("s", {2}, std::vector<float>{2, 0.5}), tensor("b", {2}, std::vector<float>{1, -1}),
              tensor("m", {2}, std::vector<float>{3, -4}), tensor("v", {2}, std::vector<float>{4, 9})},
             {value("x", {"n", "1", "h", "w_"})},
             {value("y", {"n", "2", "h", "w_"})}}));
  const Model plain = loaded(bytes, cpu, {.simplify = false}), simple = loaded(bytes);
  EXPECT_EQ(plain.graph().nodes.size(), 6u);
  EXPECT_EQ(simple.graph().nodes.size(), 2u);
  const Value x = reshape(arange(0, 32, 1, cpu, DType::F32), {2, 1, 4, 4}) / 16;
  EXPECT_EQ(difference(simple.run({{"x", x}})[0].value().data(), plain.run({{"x", x}})[0].value().data(), {1e-5, 1e-5}),
            "");
}

TEST(Model, SimplifyingMergesBatchNormsIntoTheProductsThatReadThem) {
  struct Product {
    std::vector<Message> nodes;  // from "x" by "n", what the norm makes, to "y"
    Message weight;
    bool flattens, merges;
  };
  const std::vector<float> numbers{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}, four{1, -2, 3, -4};
  const Message turned = attribute("transB", std::int64_t{1}), flatten = node("Flatten", {"n"}, {"f"});
  const std::vector<Product> products{
      {{flatten, node("Gemm", {"f", "w", "c"}, {"y"}, {turned})}, tensor("w", {2, 6}, numbers), true, true},
      {{flatten, node("Gemm", {"f", "w"}, {"y"})}, tensor("w", {6, 2}, numbers), true, true},
      {{node("Gemm", {"n", "w", "c"}, {"y"})}, tensor("w", {2, 2}, four), false, true},
      {{node("Gemm", {"n", "w"}, {"y"}, {turned})}, tensor("w", {2, 2}, four), false, true},
      {{node("Gemm", {"n", "w", "c"}, {"y"}, {attribute("alpha", 2.0f)})}, tensor("w", {2, 2}, four), false, false},
      {{node("Gemm", {"n", "w"}, {"o"}), node("Add", {"o", "n"}, {"y"})}, tensor("w", {2, 2}, four), false, false}};
  for (const Product& product : products) {
    std::vector<Message> nodes{node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"n"})};
    nodes.insert(nodes.end(), product.nodes.begin(), product.nodes.end());
    const Message x_of = product.flattens ? value("x", {"k", "2", "3"}) : value("x", {"k", "2"});
    const std::string bytes =
        model(graph({nodes,
                     {product.weight, tensor("c", {2}, std::vector<float>{10, -20}),
                      tensor("s", {2}, std::vector<float>{2, 0.5}), tensor("b", {2}, std::vector<float>{1, -1}),
                      tensor("m", {2}, std::vector<float>{3, -4}), tensor("v", {2}, std::vector<float>{4, 9})},
                     {x_of},
                     {value("y", {"k", "2"})}}));
    const Model plain = loaded(bytes, cpu, {.simplify = false}), simple = loaded(bytes);
    EXPECT_EQ(plain.graph().nodes.size() - simple.graph().nodes.size(), product.merges ? 1u : 0u);
    const Shape shape = product.flattens ? Shape{4, 2, 3} : Shape{4, 2};
    const Value x = reshape(arange(0, numel(shape), 1, cpu, DType::F32), shape) / 16;
    EXPECT_EQ(
        difference(simple.run({{"x", x}})[0].value().data(), plain.run({{"x", x}})[0].value().data(), {1e-5, 1e-5}),
        "");
  }
}

TEST(Model, SimplifyingMergesEachBatchNormOnce) {
  for (const bool twice : {false, true}) {
    std::vector<Message> nodes{node("Conv", {"x", "w"}, {"c"}),
                               node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"n"})};
    if (twice) nodes.push_back(node("BatchNormalization", {"n", "s", "b", "m", "v"}, {"o"}));
    nodes.push_back(twice ? node("Flatten", {"o"}, {"f"}) : node("Flatten", {"n"}, {"f"}));
    nodes.push_back(node("Gemm", {"f", "g"}, {"y"}));
    const std::string bytes = model(graph(
        {nodes,
         {tensor("w", {2, 1, 1, 1}, std::vector<float>{1, -2}), tensor("g", {4, 1}, std::vector<float>{1, 2, -3, 4}),
          tensor("s", {2}, std::vector<float>{2, 0.5}), tensor("b", {2}, std::vector<float>{1, -1}),
          tensor("m", {2}, std::vector<float>{3, -4}), tensor("v", {2}, std::vector<float>{4, 9})},
         {value("x", {"k", "1", "1", "2"})},
         {value("y", {"k", "1"})}}));
    const Model plain = loaded(bytes, cpu, {.simplify = false}), simple = loaded(bytes);
    EXPECT_EQ(simple.graph().nodes.size(), 3u);
    const Value x = reshape(arange(0, 6, 1, cpu, DType::F32), {3, 1, 1, 2}) / 16;
    EXPECT_EQ(
        difference(simple.run({{"x", x}})[0].value().data(), plain.run({{"x", x}})[0].value().data(), {1e-5, 1e-5}),
        "");
  }
}

TEST(Model, RunningStatisticsAreNotTrained) {
  const Model norm =
      loaded(model(graph({{node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})},
                          {tensor("s", {2}, std::vector<float>{2, 0.5}), tensor("b", {2}, std::vector<float>{1, -1}),
                           tensor("m", {2}, std::vector<float>{3, -4}), tensor("v", {2}, std::vector<float>{4, 9})},
                          {value("x", {"n", "2"})},
                          {value("y", {"n", "2"})}})));
  EXPECT_EQ(norm.parameters().size(), 2u);
  EXPECT_EQ(norm.parameters().count("s") + norm.parameters().count("b"), 2u);
}

TEST(Model, ConstantsAreFolded) {
  const Model folded =
      loaded(model(graph({{node("Add", {"a", "b"}, {"c"}), node("Mul", {"x", "c"}, {"y"})},
                          {tensor("a", {1}, std::vector<float>{1}), tensor("b", {1}, std::vector<float>{2})},
                          {value("x", {"n"})},
                          {value("y", {"n"})}})));
  EXPECT_EQ(folded.graph().nodes.size(), 1u);
  EXPECT_EQ(floats_of(folded.run({{"x", vector_of({2})}})[0]), (std::vector<float>{6}));
}

TEST(Model, SeveralThreadsRunOneModel) {
  const Model model = loaded(linear());
  std::vector<std::vector<float>> results(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i)
        results[t] = floats_of(model.run({{"x", rows(static_cast<std::int64_t>(t) + 1)}})[0]);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < results.size(); ++t) {
    ASSERT_EQ(results[t].size(), t + 1);
    for (std::size_t i = 0; i <= t; ++i) EXPECT_EQ(results[t][i], 4 + 10 * static_cast<float>(i));
  }
}

TEST(Model, ItsParametersAreTrainedByAnyOptimizer) {
  const Device device = cpu.autodiff();
  Model model = loaded(linear(), device);
  ASSERT_EQ(model.parameters().size(), 2u);
  ASSERT_TRUE(model.parameters().count("w/weight"));
  auto sgd = SgdConfig{}.init(model);
  const Value x = to_device(rows(2), device);
  const auto loss_of = [&](const Model& m) { return Tensor<0>(mean(square(m.run({{"x", x}})[0].value()))); };
  auto [loss, gradients] = value_and_grad(model, loss_of);
  EXPECT_FLOAT_EQ(static_cast<float>(loss.item()), (16 + 196) / 2.0f);
  model = sgd.step(0.1, std::move(model), gradients);
  // By hand: y = [4, 14], d mean(y^2) / dy = y, so db = 18 and dw = [0 * 4 + 2 * 14, 1 * 4 + 3 * 14] = [28, 46].
  const auto weight = std::get<nn::Param<2>>(model.parameters().at("w/weight")).value().data().to_vector<float>();
  EXPECT_NEAR(weight[0], 2 - 2.8f, 1e-5);
  EXPECT_NEAR(weight[1], 3 - 4.6f, 1e-5);
  EXPECT_NEAR(std::get<nn::Param<1>>(model.parameters().at("b")).value().item(), 1 - 1.8f, 1e-5);
}

TEST(Model, IsFrozenInPart) {
  const Device device = cpu.autodiff();
  Model model = freeze(loaded(linear(), device), Selector("**.w/weight"));
  auto sgd = SgdConfig{}.init(model);
  const Value x = to_device(rows(2), device);
  const auto [loss, gradients] =
      value_and_grad(model, [&](const Model& m) { return Tensor<0>(mean(square(m.run({{"x", x}})[0].value()))); });
  model = sgd.step(0.1, std::move(model), gradients);
  const auto& weight = std::get<nn::Param<2>>(model.parameters().at("w/weight"));
  EXPECT_TRUE(weight.is_frozen());
  EXPECT_EQ(weight.value().data().to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_NEAR(std::get<nn::Param<1>>(model.parameters().at("b")).value().item(), 1 - 1.8f, 1e-5);  // as above
}

}  // namespace
}  // namespace kiln::onnx::test
