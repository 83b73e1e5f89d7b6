// Networks on microcontrollers: the guide's, and those of MLPerf Tiny by their shapes, with random weights, in float32
// and in int8.
#include <gtest/gtest.h>

#include "kiln/compile/onnx.hpp"
#include "kiln/kiln.hpp"
#include "kiln/nn.hpp"
#include "kiln/onnx/model.hpp"
#include "tests/compile/boards.hpp"
#include "tests/compile/quantised.hpp"

namespace kiln::compile {
namespace {

struct Quantised {
  Source source;
  TensorData input, expected;
};
/// A network of int8 with what Kiln's interpreter gives for its nodes as they stand.
Quantised read(QuantisedNetwork& network, const Value& x) {
  const TemporaryFile file("model.onnx");
  write_text(file.path, network.file());
  const onnx::Model model = onnx::load(file.path, cpu(), {.simplify = false});
  return {onnx_source(file.path), x.data(), model.run({onnx::Datum(x)})[0].value().data()};
}
/// On a board; a weight is a byte, and a bias is four.
void expect_right_in_int8_on(const std::string& target, QuantisedNetwork& network, const Value& x) {
  const Quantised file = read(network, x);
  const auto code = expect_right_on(target, file.source, file.input, file.expected);
  if (code) {
    EXPECT_GE(code->constant_bytes, network.bytes() * 9 / 10);
    EXPECT_LE(code->constant_bytes, network.bytes() * 21 / 20 + 1024);  // and the scales
  }
}

Value random_of(const Shape& shape) { return uniform(shape, -1, 1, cpu()); }
/// Weights of the size that keeps the size of what they are multiplied with.
Value weight_of(const Shape& shape) {
  return random_of(shape) * std::sqrt(3.0 / static_cast<double>(numel(shape) / shape[0]));
}
Value bias_of(std::int64_t channels) { return random_of({channels}) * 0.1; }

QuantisedNetwork quantised_guide(const Value& x, std::int64_t hidden) {
  QuantisedNetwork network(x);
  network.conv(weight_of({8, 1, 3, 3}), bias_of(8), {}, false)
      .conv(weight_of({16, 8, 3, 3}), bias_of(16), {}, true)
      .average(3, 3)
      .flatten()
      .linear(weight_of({hidden, 16 * 8 * 8}), bias_of(hidden), true)
      .linear(weight_of({10, hidden}), bias_of(10), false)
      .softmax();
  return network;
}

QuantisedNetwork quantised_keywords(const Value& x) {
  QuantisedNetwork network(x);
  network.conv(weight_of({64, 1, 10, 4}), bias_of(64), {.stride = {2, 2}, .padding = {4, 1}, .padding_after = {5, 1}},
               true);
  for (int i = 0; i < 4; ++i)
    network.conv(weight_of({64, 1, 3, 3}), bias_of(64), {.padding = {1, 1}, .groups = 64}, true)
        .conv(weight_of({64, 64, 1, 1}), bias_of(64), {}, true);
  network.average(25, 5).flatten().linear(weight_of({12, 64}), bias_of(12), false).softmax();
  return network;
}

QuantisedNetwork quantised_autoencoder(const Value& x) {
  QuantisedNetwork network(x);
  std::int64_t width = 640;
  for (const std::int64_t next : {128, 128, 128, 128, 8, 128, 128, 128, 128, 640}) {
    network.linear(weight_of({next, width}), bias_of(next), next != 640);
    width = next;
  }
  return network;
}

/// The guide's network, for one picture.
auto guide(std::int64_t hidden, const Device& device) {
  const auto conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = hidden}.init(device);
  const auto linear2 = nn::LinearConfig{.in = hidden, .out = 10}.init(device);
  return [=](const Values& in) {
    Tensor<4> x = conv1.forward(Tensor<3>(in[0]).unsqueeze(1));
    x = nn::AdaptiveAvgPool2d{.sizes = {8, 8}}.forward(conv2.forward(x).relu());
    return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
  };
}

/// Keyword spotting with depthwise convolutions, of MLPerf Tiny's shapes.
auto keywords(const Device& device) {
  const auto first = nn::Conv2dConfig{.in = 1, .out = 64, .kernel = {10, 4}, .stride = {2}}.init(device);
  std::vector<nn::Conv2d> depthwise, pointwise;
  for (int i = 0; i < 4; ++i) {
    depthwise.push_back(nn::Conv2dConfig{.in = 64, .out = 64, .kernel = {3}, .groups = 64}.init(device));
    pointwise.push_back(nn::Conv2dConfig{.in = 64, .out = 64, .kernel = {1}}.init(device));
  }
  const auto last = nn::LinearConfig{.in = 64, .out = 12}.init(device);
  return [=](const Values& in) {
    Tensor<4> x(pad(first.forward(Tensor<4>(in[0])).relu().value(), {0, 0, 4, 4}, {0, 0, 4, 4}));
    for (std::size_t i = 0; i < depthwise.size(); ++i) x = pointwise[i].forward(depthwise[i].forward(x).relu()).relu();
    return Values{last.forward(Tensor<2>(mean(x.value(), {2, 3}))).softmax(1).value()};
  };
}

/// Anomalies in sounds: an autoencoder of MLPerf Tiny's shapes.
auto autoencoder(const Device& device) {
  std::vector<nn::Linear> layers;
  std::int64_t width = 640;
  for (const std::int64_t next : {128, 128, 128, 128, 8, 128, 128, 128, 128, 640}) {
    layers.push_back(nn::LinearConfig{.in = width, .out = next}.init(device));
    width = next;
  }
  return [=](const Values& in) {
    Tensor<2> x(in[0]);
    for (const nn::Linear& layer : layers) x = &layer == &layers.back() ? layer.forward(x) : layer.forward(x).relu();
    return Values{x.value()};
  };
}

TEST(Boards, CortexM4RunsTheGuidesNetwork) {
  const Device device = seeded();
  expect_right_on("m4", guide(512, device), uniform(Shape{1, 28, 28}, 0, 1, device));
}
TEST(Boards, CortexM7SpotsKeywords) {
  const Device device = seeded();
  expect_right_on("m7", keywords(device), uniform(Shape{1, 1, 49, 10}, -1, 1, device));
}
TEST(Boards, CortexM33RunsAnAutoencoder) {
  const Device device = seeded();
  expect_right_on("m33", autoencoder(device), uniform(Shape{1, 640}, -1, 1, device));
}
TEST(Boards, CortexM4RunsTheGuidesNetworkInInt8) {
  const Device device = seeded();
  const Value x = uniform(Shape{1, 1, 28, 28}, 0, 1, device);
  QuantisedNetwork network = quantised_guide(x, 512);
  expect_right_in_int8_on("m4", network, x);
}
TEST(Boards, CortexM7RunsTheGuidesNetworkInInt8) {
  const Device device = seeded();
  const Value x = uniform(Shape{1, 1, 28, 28}, 0, 1, device);
  QuantisedNetwork network = quantised_guide(x, 512);
  expect_right_in_int8_on("m7", network, x);
}
TEST(Boards, CortexM7SpotsKeywordsInInt8) {
  const Value x = uniform(Shape{1, 1, 49, 10}, -1, 1, seeded());
  QuantisedNetwork network = quantised_keywords(x);
  expect_right_in_int8_on("m7", network, x);
}
TEST(Boards, CortexM33RunsAnAutoencoderInInt8) {
  const Value x = uniform(Shape{1, 640}, -1, 1, seeded());
  QuantisedNetwork network = quantised_autoencoder(x);
  expect_right_in_int8_on("m33", network, x);
}

/// What the guide's network takes of a Cortex-M4F: the code beside the weights, and memory of no more than what was
/// planned, the input, the output and 4 KB with the stack.
TEST(Boards, GuideIsSmallOnACortexM4) {
  if (const std::string missing = missing_for("m4"); !missing.empty()) GTEST_SKIP() << "there is no " << missing;
  const Value x = uniform(Shape{1, 28, 28}, 0, 1, seeded());
  const CompiledCode code = compile({.graph = capture_graph(guide(512, cpu()), {&x, 1})}, {.target = "m4"});
  const std::int64_t ram = code.arena_bytes + 4 * (28 * 28 + 10) + 4096;
  const BoardRun run = run_on("m4", code, counted_main(code, 28 * 28, 10), {.ram = ram, .counts = true});
  EXPECT_TRUE(run.succeeded) << run.said;
  const std::int64_t beside = run.bytes.at(".text") - code.constant_bytes;
  EXPECT_LT(beside, 40 * 1024);
  std::printf("flash beside %lld bytes of weights: %lld, arena %lld, in %lld bytes of memory, %.0f instructions\n",
              static_cast<long long>(code.constant_bytes), static_cast<long long>(beside),
              static_cast<long long>(code.arena_bytes), static_cast<long long>(ram), instructions("m4", run));
}

/// Instructions of one run; those of emlearn's C for the perceptrons are printed by bench/peers/emlearn_board.py.
TEST(Boards, CountsInstructions) {
  const auto count = [](const std::string& what, const std::string& target, const Source& source) {
    if (!missing_for(target).empty()) return;
    const CompiledCode code = compile(source, {.target = target});
    const BoardRun run = run_on(
        target, code, counted_main(code, numel(source.graph.inputs()[0].shape), numel(source.graph.outputs()[0].shape)),
        {.counts = true});
    EXPECT_TRUE(run.succeeded) << what << run.said;
    EXPECT_GT(instructions(target, run), 1000) << what;
    std::printf("%-3s %-20s %10.0f instructions\n", target.c_str(), what.c_str(), instructions(target, run));
  };
  const auto perceptron = [](const std::vector<std::int64_t>& sizes) {
    std::vector<nn::Linear> layers;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
      layers.push_back(nn::LinearConfig{.in = sizes[i], .out = sizes[i + 1]}.init(cpu()));
    const Value x = zeros(Shape{1, sizes[0]}, cpu());
    return Source{.graph = capture_graph(
                      [&](const Values& in) {
                        Tensor<2> y(in[0]);
                        for (std::size_t i = 0; i < layers.size(); ++i)
                          y = i + 1 < layers.size() ? layers[i].forward(y).relu() : layers[i].forward(y);
                        return Values{sizes.back() == 10 ? y.softmax(1).value() : y.value()};
                      },
                      {&x, 1})};
  };
  for (const std::string target : {"m0", "m4"}) {
    count("64-32-10", target, perceptron({64, 32, 10}));
    count("784-32-10", target, perceptron({784, 32, 10}));
  }
  count("640-128-8-128-640", "m4", perceptron({640, 128, 8, 128, 640}));
  const Value x = uniform(Shape{1, 1, 28, 28}, 0, 1, seeded()), sound = random_of({1, 1, 49, 10});
  QuantisedNetwork digits = quantised_guide(x, 512), words = quantised_keywords(sound);
  count("guide, int8", "m4", read(digits, x).source);
  count("keywords, int8", "m7", read(words, sound).source);
  const Value picture = uniform(Shape{1, 28, 28}, 0, 1, cpu());
  count("guide", "m7", {.graph = capture_graph(guide(512, cpu()), {&picture, 1})});
  count("keywords", "m7", {.graph = capture_graph(keywords(cpu()), {&sound, 1})});
}

TEST(Boards, RiscvRunsTheGuidesNetwork) {
  const Device device = seeded();
  expect_right_on("rv32", guide(32, device), uniform(Shape{1, 28, 28}, 0, 1, device));
}
// 16 KB of memory, no floating-point unit, no unaligned access.
TEST(Boards, CortexM0ReadsSmallDigits) {
  const Device device = seeded();
  const auto conv = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 8 * 3 * 3, .out = 32}.init(device);
  const auto linear2 = nn::LinearConfig{.in = 32, .out = 10}.init(device);
  expect_right_on(
      "m0",
      [&](const Values& in) {
        const Tensor<4> x(max_pool(conv.forward(Tensor<4>(in[0])).relu().value(), {.kernel = {2, 2}}));
        return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
      },
      uniform(Shape{1, 1, 8, 8}, 0, 1, device));
}

}  // namespace
}  // namespace kiln::compile
