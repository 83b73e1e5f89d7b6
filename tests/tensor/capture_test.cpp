// Graphs: functions recorded without being run, printed, and replayed.
#include "kiln/tensor/capture.hpp"

#include <gtest/gtest.h>

#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/tensor/normalization.hpp"
#include "kiln/tensor/pool.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

std::vector<double> numbers(const auto& x) { return x.data().template to_vector<double>(); }

class OnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  Device device = Device::parse(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Capture, OnEachDevice, testing::Values("cpu", "reference"));

TEST_P(OnEachDevice, RecordsPrintsAndReplays) {
  const auto x = Tensor<2>::of({{1, 2}, {3, -4}}, device), w = Tensor<2>::of({{1, 0, 2}, {0, 1, -1}}, device);
  int calls = 0;
  const auto graph = capture(
      [&](const Tensor<2>& in) {
        ++calls;
        const auto unused = in.exp();
        return (in.matmul(w) + 1).relu().sum(0);
      },
      x);
  EXPECT_EQ(graph.text(),
            "graph(%0 float32 [2, 2])\n"
            "  %1 = constant  float32 [2, 3]\n"
            "  %2 = matmul(%0, %1)  float32 [2, 3]\n"
            "  %3 = add(%2, 1)  float32 [2, 3]\n"
            "  %4 = relu(%3)  float32 [2, 3]\n"
            "  %5 = sum(%4, dims=[0])  float32 [1, 3]\n"
            "  %6 = reshape(%5, shape=[3])  float32 [3]\n"
            "  return %6\n");
  EXPECT_EQ(numbers(graph(x)), (std::vector<double>{6, 3, 12}));
  EXPECT_EQ(numbers(graph(x * 2)), (std::vector<double>{10, 5, 22}));
  EXPECT_EQ(calls, 1);
}

TEST_P(OnEachDevice, GivesTensorsOfSeveralTypes) {
  const auto x = Tensor<2>::of({{1, 5}, {7, 3}}, device);
  const auto graph = capture(
      [](const Tensor<2>& in, const Tensor<0>& shift) {
        const auto pooled = in.max_with_index(1);
        return std::tuple(pooled.values + shift, pooled.indices);
      },
      x, Tensor<0>::full({}, 1.0, device));
  const auto [values, indices] = graph(x, Tensor<0>::full({}, 2.0, device));
  EXPECT_EQ(numbers(values), (std::vector<double>{7, 9}));
  EXPECT_EQ(numbers(indices), (std::vector<double>{1, 0}));
}

TEST_P(OnEachDevice, DifferentiatesThroughReplays) {
  const Device tape = device.autodiff();
  const auto w = Tensor<2>::of({{2, 0}, {1, 3}}, tape).require_grad();
  const auto x = Tensor<2>::of({{1, 2}}, tape).require_grad();
  const auto f = [&](const Tensor<2>& in) { return (in.matmul(w).softmax(1) * in.detach()).sum(); };
  const auto graph = capture(f, x);
  const auto other = Tensor<2>::of({{-0.5, 1}}, tape).require_grad();
  const auto expected = f(other).backward(), found = graph(other).backward();
  EXPECT_EQ(numbers(found.of(w)), numbers(expected.of(w)));
  EXPECT_EQ(numbers(found.of(other)), numbers(expected.of(other)));
}

TEST_P(OnEachDevice, DifferentiatesThroughReplaysOfCheckpoints) {
  const Device tracking = device.autodiff();
  const auto x = Tensor<1>::of({0.5, -1}, tracking).require_grad(), w = Tensor<1>::of({3, 2}, tracking).require_grad();
  const auto graph = capture(
      [&](const Tensor<1>& in) {
        return checkpoint(
                   [w](const Tensor<1>& in) {
                     const NoGrad pause;
                     const Tensor<1> factor = in * w;  // no gradient flows through this one
                     return factor;
                   },
                   in) *
               checkpoint([w](const Tensor<1>& in) { return (in * w).square(); }, in);
      },
      x);
  const auto y = graph(x).sum();  // of x w times (x w)^2, the first factor constant: slope x w 2 w x w in x
  const auto gradients = y.backward();
  EXPECT_EQ(numbers(gradients.of(x)), (std::vector<double>{1.5 * 2 * 3 * 1.5, -2.0 * 2 * 2 * -2}));
  EXPECT_EQ(numbers(gradients.of(w)), (std::vector<double>{1.5 * 2 * 0.5 * 1.5, -2.0 * 2 * -1 * -2}));
}

TEST_P(OnEachDevice, CapturesGradientsThatAreTakenInside) {
  const Device tape = device.autodiff();
  const auto x = Tensor<1>::of({1, 2, 3}, tape).require_grad();
  const auto slope = capture([](const Tensor<1>& in) { return (in * in * in).sum().backward().of(in); }, x);
  const Tensor<1> result = slope(Tensor<1>::of({1, -2, 0.5}, tape).require_grad());
  EXPECT_EQ(numbers(result), (std::vector<double>{3, 12, 0.75}));
  EXPECT_FALSE(result.tracked());
}

TEST_P(OnEachDevice, KeepsRandomNumbersUnlessGivenAKey) {
  const auto x = ones({1000}, device);
  const auto graph = capture([](const Tensor<1>& in) { return dropout(in, 0.5) + uniform_like(in, 0, 1); }, x);
  const auto first = numbers(graph(x));
  EXPECT_EQ(numbers(graph(x)), first);
  const auto other = numbers(graph.replay({.key = Key{1}}, x));
  EXPECT_NE(other, first);
  EXPECT_EQ(numbers(graph.replay({.key = Key{1}}, x)), other);
  EXPECT_NE(numbers(graph.replay({.key = Key{2}}, x)), other);
}

TEST(Capture, SaysOnceThatDropoutIsActive) {
  const auto x = ones({4}, Device::cpu());
  testing::internal::CaptureStderr();
  capture([](const Tensor<1>& in) { return in + uniform_like(in, 0, 1); }, x);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) capture([](const Tensor<1>& in) { return dropout(in, 0.5); }, x);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "kiln: warning: capture: dropout is active in the program, and every replay drops the same elements: capture "
      "valid(model), or give each replay a ReplayOptions::key. This is said once.\n");
}

TEST_P(OnEachDevice, DrawsTheSameMaskForAGradientAsForItsValue) {
  const Device tape = device.autodiff();
  const auto x = ones({50}, tape).require_grad();
  const auto graph = capture(
      [](const Tensor<1>& in) {
        const auto y = dropout(in, 0.5);
        return std::tuple(y, y.sum().backward().of(in));
      },
      x);
  const auto [values, slopes] = graph.replay({.key = Key{7}}, x);
  EXPECT_EQ(numbers(values), numbers(slopes));
}

TEST_P(OnEachDevice, MayBeReplayedInsideAnother) {
  const auto x = Tensor<1>::of({1, 2}, device);
  const auto inner = capture([](const Tensor<1>& in) { return in.exp(); }, x);
  const auto outer = capture([&](const Tensor<1>& in) { return inner(in) + 1; }, x);
  EXPECT_EQ(outer.graph().size(), 2u);
  EXPECT_EQ(numbers(outer(x)), numbers(x.exp() + 1));
}

TEST_P(OnEachDevice, MakesTensorsWhereTheInputsAre) {
  const auto graph = capture(
      [](const Tensor<1>& in) {
        return in + ones_like(in) + Tensor<1>::of({1, 2}, in.device()) + arange(2.0, in.device());
      },
      zeros({2}, device));
  EXPECT_EQ(numbers(graph(zeros({2}, device))), (std::vector<double>{2, 4}));
  const auto alone = capture_graph([&](const Values&) { return Values{ones({2}, device).value()}; }, {});
  EXPECT_EQ(alone.size(), 0u);  // computed as always: a constant
  EXPECT_EQ(numbers(alone.replay({})[0]), (std::vector<double>{1, 1}));
}

struct Double {
  std::string name() const { return "double"; }
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] * 2; }
  Values vjp(Inputs, Inputs, Inputs grad) const { return {grad[0] * 2}; }
};

TEST_P(OnEachDevice, KeepsCustomOpsWhole) {
  const auto x = Tensor<1>::of({1, 2}, device.autodiff()).require_grad();
  const auto graph = capture([](const Tensor<1>& in) { return custom(Double{}, in); }, x);
  EXPECT_EQ(graph.text(),
            "graph(%0 float32 [2])\n"
            "  %1 = double(%0)  float32 [2]\n"
            "  return %1\n");
  EXPECT_EQ(numbers(graph(x).sum().backward().of(x)), (std::vector<double>{2, 2}));
}

TEST(CaptureErrors, AreSentences) {
  const Device device = Device::cpu();
  const auto x = ones({2, 3}, device);
  const auto graph = capture([](const Tensor<2>& in) { return in + 1; }, x);
  EXPECT_EQ(sentence_of([&] { return capture([](const Tensor<2>& in) { return in * in.sum().item(); }, x); }),
            "DeviceError: capture: float32 [] was recorded, not computed: it can be read when the graph is replayed");
  EXPECT_EQ(sentence_of([&] { return graph(ones({2, 4}, device)); }),
            "ShapeError: replay: input 0 is float32 [2, 4], the graph was captured with float32 [2, 3]");
  EXPECT_EQ(sentence_of([&] { return graph(x.to(DType::F64)); }),
            "DTypeError: replay: input 0 is float64 [2, 3], the graph was captured with float32 [2, 3]");
  EXPECT_EQ(sentence_of([&] { return graph.graph().replay({}); }),
            "ArgumentError: replay: the graph takes 1 inputs, got 0");
  EXPECT_EQ(sentence_of([&] {
              const Value number = 1;
              return graph.graph().replay({&number, 1});
            }),
            "ArgumentError: replay: input 0 must be a tensor, got 1");
  EXPECT_EQ(sentence_of([&] { return capture([](const Tensor<2>&) { return Tensor<2>(); }, x); }),
            "ArgumentError: capture: result 0 of the function is nothing, not a tensor");
  Tensor<2> leaked;
  capture([&](const Tensor<2>& in) { return leaked = in; }, x);
  EXPECT_EQ(sentence_of([&] { return leaked + 1; }),
            "DeviceError: add: its operand belongs to a capture that has ended");
  EXPECT_EQ(sentence_of([&] {
              return capture([](const Tensor<2>& a, const Tensor<2>& b) { return a + b; }, x,
                             ones({2, 3}, Device::parse("reference")));
            }),
            "DeviceError: capture: examples on cpu and reference; move one with to_device()");
  const Tensor<2> elsewhere = ones({2, 3}, Device::parse("reference"));
  EXPECT_EQ(sentence_of([&] { return capture([&](const Tensor<2>& in) { return in + elsewhere; }, x); }),
            "DeviceError: add: capture of cpu and reference; move one with to_device()");
}

}  // namespace
}  // namespace kiln
