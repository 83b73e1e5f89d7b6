// A model that runs again and again: when its graph is walked, captured and replayed, and what must be seen meanwhile.
#include "kiln/onnx/programs.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "kiln/core/error/trace.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/optim.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

Model loaded(const std::string& bytes, const Device& device = cpu) {
  return load(bytes_of(bytes), "m.onnx", "", device, {});
}
Value numbers(const Shape& shape, std::vector<float> list) {
  return from_data(TensorData::of<float>(shape, std::span<const float>(list)), cpu);
}
std::vector<float> floats_of(const Datum& datum) { return datum.value().data().to_vector<float>(); }

/// y = x w + b for x [batch, 2], w = [2, 3] and b = 1.
std::string linear() {
  return model(graph({{node("Gemm", {"x", "w", "b"}, {"y"})},
                      {tensor("w", {2, 1}, std::vector<float>{2, 3}), tensor("b", {1}, std::vector<float>{1})},
                      {value("x", {"batch", "2"})},
                      {value("y", {"batch", "1"})}}));
}

struct Walks {
  Graph graph;
  Programs programs{graph};
  Values weights{numbers({2}, {1, 2})};
  int count = 0;

  std::vector<float> run(const std::vector<Datum>& inputs) {
    const auto walk = [&](std::vector<Datum> in) {
      ++count;
      return std::vector<Datum>{Datum(in[0].value() + weights[0])};
    };
    return floats_of(programs.run(inputs, weights, cpu, walk)[0]);
  }
};

TEST(Programs, AWalkIsCapturedTheSecondTimeAndReplayedFromThenOn) {
  Walks walks;
  for (int i = 0; i < 5; ++i) {
    const auto x = static_cast<float>(i);
    EXPECT_EQ(walks.run({numbers({2}, {x, 2 * x})}), (std::vector<float>{x + 1, 2 * x + 2}));
    EXPECT_EQ(walks.count, i == 0 ? 1 : 2);
  }
  EXPECT_EQ(walks.run({numbers({1, 2}, {0, 0})}), (std::vector<float>{1, 2}));
  EXPECT_EQ(walks.count, 3);  // of another shape
}

TEST(Programs, OtherWeightsMakeAnEndOfThem) {
  Walks walks;
  for (int i = 0; i < 3; ++i) walks.run({numbers({2}, {0, 0})});
  walks.weights = {numbers({2}, {5, 6})};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(walks.run({numbers({2}, {1, 1})}), (std::vector<float>{6, 7}));
  EXPECT_EQ(walks.count, 4);
}

TEST(Programs, ACopyHasNone) {
  Walks walks;
  for (int i = 0; i < 3; ++i) walks.run({numbers({2}, {0, 0})});
  Walks copy = walks;
  copy.weights = {numbers({2}, {5, 6})};
  EXPECT_EQ(copy.run({numbers({2}, {0, 0})}), (std::vector<float>{5, 6}));
  EXPECT_EQ(walks.run({numbers({2}, {0, 0})}), (std::vector<float>{1, 2}));
  EXPECT_EQ(copy.count, 3);
}

TEST(Programs, AutocastIsNotPartOfOne) {
  const Model model = loaded(linear());
  const Value x = numbers({1, 2}, {1.001f, 1.003f});
  const float exact = floats_of(model.run({Datum(x)})[0])[0];
  for (int i = 0; i < 3; ++i) {
    const Autocast half(DType::BF16);
    EXPECT_EQ(floats_of(model.run({Datum(x)})[0])[0], 6.0f) << "1.001 and 1.003 are 1 in bfloat16";
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats_of(model.run({Datum(x)})[0])[0], exact);
  EXPECT_NE(exact, 6.0f);
}

TEST(Programs, WhatReadsItsInputIsWalkedEachTime) {
  const Model model = loaded(
      onnx::test::model(graph({{node("NonZero", {"x"}, {"y"})}, {}, {value("x", {"n"})}, {value("y", {"1", "k"})}})));
  EXPECT_EQ(model.run({Datum(numbers({3}, {0, 1, 1}))})[0].value().shape(), (Shape{1, 2}));
  EXPECT_EQ(model.run({Datum(numbers({3}, {0, 0, 1}))})[0].value().shape(), (Shape{1, 1}));
  EXPECT_EQ(model.run({Datum(numbers({3}, {1, 1, 1}))})[0].value().shape(), (Shape{1, 3}));
  EXPECT_EQ(model.run({Datum(numbers({3}, {0, 0, 0}))})[0].value().shape(), (Shape{1, 0}));
}

TEST(Programs, IntegersThatAreReadHaveProgramsOfTheirOwn) {
  int count = 0;
  const Graph graph;
  const Programs programs{graph};
  const Values weights{numbers({2}, {1, 2})};
  const auto run = [&](float x, std::int64_t n) {
    const auto walk = [&](std::vector<Datum> in) {
      ++count;
      const double times = in[1].value().data().at(0);
      return std::vector<Datum>{Datum(in[0].value() * times + weights[0])};
    };
    const Datum number(from_data(TensorData::of<std::int64_t>({}, {n}), cpu));
    return floats_of(programs.run({Datum(numbers({2}, {x, 2 * x})), number}, weights, cpu, walk)[0]);
  };
  const auto expected = [](float x, float n) { return std::vector<float>{n * x + 1, n * 2 * x + 2}; };
  for (const std::int64_t n : {2, 3, 2, 3}) {
    const int before = count;
    for (const float x : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}) EXPECT_EQ(run(x, n), expected(x, static_cast<float>(n)));
    EXPECT_LE(count - before, 4);
  }
  const int before = count;
  EXPECT_EQ(run(7, 2), expected(7, 2));
  EXPECT_EQ(run(7, 3), expected(7, 3));
  EXPECT_EQ(count, before);
  for (std::int64_t n = 4; n < 40; ++n) EXPECT_EQ(run(1, n), expected(1, static_cast<float>(n)));
}

TEST(Programs, AnIfFollowsItsCondition) {
  const Message then_branch = graph({{node("Neg", {"x"}, {"t"})}, {}, {}, {value("t", {"n"})}});
  const Message else_branch = graph({{node("Relu", {"x"}, {"e"})}, {}, {}, {value("e", {"n"})}});
  const Model model = loaded(onnx::test::model(
      graph({{node("If", {"c"}, {"y"},
                   {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)})},
             {},
             {value("c", {}, Element::Bool), value("x", {"n"})},
             {value("y", {"n"})}})));
  for (const bool yes : {true, true, false, true, true, false, false, false, true}) {
    const Outputs out = model.run({{"c", full({}, yes, cpu, DType::Bool)}, {"x", numbers({2}, {-1, 2})}});
    EXPECT_EQ(floats_of(out[0]), (yes ? std::vector<float>{1, -2} : std::vector<float>{0, 2}));
  }
}

TEST(Programs, RandomNumbersAreOtherOnesEachTime) {
  const Model model = loaded(onnx::test::model(
      graph({{node("RandomNormalLike", {"x"}, {"y"})}, {}, {value("x", {"n"})}, {value("y", {"n"})}})));
  const Value x = numbers({2}, {0, 0});
  std::vector<float> before;
  for (int i = 0; i < 4; ++i) {
    const std::vector<float> now = floats_of(model.run({Datum(x)})[0]);
    EXPECT_NE(now, before);
    before = now;
  }
}

TEST(Programs, LeaveTheDevicesRandomNumbersAlone) {
  const Model model = loaded(linear());
  const auto drawn = [] { return normal({4}, 0, 1, cpu, DType::F32).data().to_vector<float>(); };
  cpu.seed(3);
  const std::vector<float> expected = drawn();
  cpu.seed(3);
  for (int i = 0; i < 3; ++i) model.run({Datum(numbers({1, 2}, {1, 1}))});
  EXPECT_EQ(drawn(), expected);
}

TEST(Programs, AnErrorOfDataReadsTheSameEachTime) {
  const Model model = loaded(onnx::test::model(graph({{node("Gather", {"w", "i"}, {"y"})},
                                                      {tensor("w", {2}, std::vector<float>{2, 3})},
                                                      {value("i", {"n"}, Element::Int64)},
                                                      {value("y", {"n"})}})));
  const auto of = [&](std::int64_t index) -> std::string {
    try {
      return text(floats_of(model.run({Datum(from_data(TensorData::of<std::int64_t>({1}, {index}), cpu))})[0])[0]);
    } catch (const Error& error) { return std::string(without_calls(error.what())); }
  };
  EXPECT_EQ(of(1), "3");
  std::vector<std::string> said;
  for (int time = 0; time < 3; ++time) said.push_back(of(7));  // from one line, which errors tell
  EXPECT_NE(said[0].find('7'), std::string::npos) << said[0];
  EXPECT_EQ(said[1], said[0]);
  EXPECT_EQ(said[2], said[0]);
  EXPECT_EQ(of(0), "2");
}

TEST(Programs, FineTunedParametersAreSeenByTheNextRun) {
  Model model = loaded(linear(), cpu.autodiff());
  const Value x = numbers({1, 2}, {1, 1});
  auto sgd = SgdConfig{}.init(model);
  for (int step = 0; step < 3; ++step) {
    const Model still = valid(model);
    for (int i = 0; i < 3; ++i) {  // the third is replayed
      const float y = floats_of(still.run({Datum(x)})[0])[0];
      EXPECT_FLOAT_EQ(y, 6 - 3 * static_cast<float>(step));  // dy/dw = [1, 1], dy/db = 1
    }
    auto [loss, gradients] =
        value_and_grad(model, [&](const Model& m) { return Tensor<0>(sum(m.run({Datum(x)})[0].value())); });
    model = sgd.step(1.0, std::move(model), gradients);
  }
  // One model whose parameters are assigned, between runs of its program.
  Model plain = loaded(linear());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats_of(plain.run({Datum(x)})[0])[0], 6);
  auto& b = std::get<nn::Param<1>>(std::get<0>(plain.layers()).at("b"));
  b = b.with_value(numbers({1}, {10}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats_of(plain.run({Datum(x)})[0])[0], 15);
}

TEST(Programs, ThreadsMayRunMoreShapesThanAreKept) {
  const Model model = loaded(linear());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::int64_t count = 1 + (i * (t + 1)) % 13;
        const std::vector<float> y =
            floats_of(model.run({Datum(reshape(arange(0, 2 * count, 1, cpu, DType::F32), {count, 2}))})[0]);
        for (std::size_t k = 0; k < y.size(); ++k) wrong += y[k] != 4 + 10 * static_cast<float>(k);
        wrong += static_cast<std::int64_t>(y.size()) != count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kiln::onnx::test
