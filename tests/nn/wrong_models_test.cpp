// What is said where a model and its loss do not go together: which parameter, and why there is no gradient.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

struct Block {
  nn::Linear expand, project;
  Tensor<2> forward(const Tensor<2>& x) const { return project.forward(expand.forward(x).relu()); }
};
struct Deep {
  std::vector<Block> blocks;
  nn::Param<2> mix;
  Tensor<2> forward(Tensor<2> x) const {
    for (const Block& block : blocks) x = block.forward(x);
    return x;
  }
};

/// The projection of block 1 takes 3 where it is given 4.
Deep deep(const Device& on) {
  const auto linear = [&](std::int64_t in, std::int64_t out) {
    return nn::LinearConfig{.in = in, .out = out}.init(on);
  };
  return {{{linear(2, 4), linear(4, 2)}, {linear(2, 4), linear(3, 2)}}, nn::Param(ones({3, 5}, on))};
}

TEST(WrongModels, AreToldWhichParameterDoesNotFit) {
  constexpr auto kSentence =
      "ShapeError: linear: the last dimension of [7, 4] is not the layer's input size, 3, in blocks.1.project.weight "
      "[2, 3]";
  const Tensor<2> x = ones({7, 2}, autodiff);
  const Deep model = deep(autodiff), plain = deep(cpu);
  EXPECT_EQ(sentence_of([&] { return value_and_grad(model, [&](const Deep& m) { return m.forward(x).sum(); }).loss; }),
            kSentence);
  const ParamNames names(plain);
  EXPECT_EQ(sentence_of([&] { return plain.forward(ones({7, 2}, cpu)); }), kSentence);
}

TEST(WrongModels, AreToldWhichParameterOfAnOperationDoesNotFit) {
  const Tensor<2> x = ones({7, 2}, autodiff);
  const auto sentence = [&](auto forward) {
    return sentence_of([&] { return value_and_grad(deep(autodiff), forward).loss; });
  };
  EXPECT_EQ(sentence([&](const Deep& m) { return x.matmul(m.mix).sum(); }),
            "ShapeError: matmul: [7, 2] x [3, 5]: inner dimensions 2 and 3 differ, in mix [3, 5]");
  EXPECT_EQ(sentence([&](const Deep& m) { return x.matmul(m.mix.t()).sum(); }),
            "ShapeError: matmul: [7, 2] x [5, 3]: inner dimensions 2 and 5 differ, in mix [3, 5]");
  EXPECT_EQ(sentence([&](const Deep&) { return x.matmul(x).sum(); }),
            "ShapeError: matmul: [7, 2] x [7, 2]: inner dimensions 2 and 7 differ");
}

TEST(WrongModels, AreToldThatALayerWasNotDrawn) {
  const Tensor<2> x = ones({7, 2}, cpu);
  EXPECT_EQ(sentence_of([&] { return nn::Linear().forward(x); }),
            "ArgumentError: linear: the layer has no weight: it was declared and not drawn (make it by "
            "LinearConfig{...}.init(device)), or std::move() has taken it");
  EXPECT_EQ(sentence_of([&] { return nn::LinearConfig{2, 3}.init(cpu).forward(Tensor<2>()); }),
            "ArgumentError: linear: the input is an empty tensor: it was declared and never assigned, or std::move() "
            "has taken it");
}

/// Calls layers of float32 with inputs of both types.
[[noreturn]] void widen() {
  const nn::Linear layer = nn::LinearConfig{2, 3}.init(cpu);
  (void)layer.forward(Tensor<2>(ones({7, 2}, cpu)));
  for (int twice = 0; twice < 2; ++twice) {
    const auto wide = Tensor<2>::of(std::vector<double>(14), {7, 2}, cpu);
    KILN_CHECK(layer.forward(wide).dtype() == DType::F64);
  }
  std::exit(0);
}

[[noreturn]] void stay_in_one_type() {
  const nn::Linear layer = nn::LinearConfig{2, 3}.init(cpu);
  (void)layer.forward(Tensor<2>(ones({7, 2}, cpu)));
  (void)linear(ones({7, 2}, cpu, DType::F64), ones({3, 2}, cpu, DType::F64));
  std::exit(0);
}

TEST(WrongModels, SayOnceThatAnInputMakesThemFloat64) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(widen(), testing::ExitedWithCode(0),
              "^kiln: warning: linear: the input, float64 \\[7, 2\\], meets the weight, float32 \\[3, 2\\]; [^\n]*said "
              "once.(\n  called from [^\n]*)*\n$");
  EXPECT_EXIT(stay_in_one_type(), testing::ExitedWithCode(0), "^$");
}

TEST(WrongModels, AreToldWhyThereIsNoGradient) {
  const nn::Linear model = nn::LinearConfig{.in = 2, .out = 1}.init(autodiff);
  const nn::Linear fresh = nn::LinearConfig{.in = 2, .out = 1}.init(autodiff);
  const Tensor<2> x = ones({3, 2}, autodiff);
  EXPECT_EQ(sentence_of([&] { return value_and_grad(model, [&](const nn::Linear&) { return x.sum(); }).loss; }),
            "AutodiffError: value_and_grad: the loss does not depend on the model's parameters");
  EXPECT_EQ(sentence_of(
                [&] { return value_and_grad(model, [&](const nn::Linear&) { return fresh.forward(x).sum(); }).loss; }),
            "AutodiffError: value_and_grad: the loss does not depend on the model's parameters, though on others");
  EXPECT_EQ(sentence_of([&] {
              const NoGrad pause;
              return value_and_grad(model, [&](const nn::Linear& m) { return m.forward(x).sum(); }).loss;
            }),
            "AutodiffError: value_and_grad: NoGrad is on, so nothing is recorded");
  EXPECT_EQ(sentence_of([&] { return x.sum().backward().size(); }),
            "AutodiffError: backward: the loss does not depend on anything tracked; it was made from constants, from "
            "detached tensors, or under NoGrad");
  EXPECT_EQ(sentence_of([&] {
              const NoGrad pause;
              return model.forward(x).sum().backward().size();
            }),
            "AutodiffError: backward: NoGrad is on, so nothing is recorded");
  EXPECT_EQ(sentence_of([&] { return ones({2}, cpu).sum().backward().size(); }),
            "AutodiffError: backward: nothing here is tracked; make the parameters on device.autodiff() or call "
            "require_grad() on a leaf");
}

TEST(WrongModels, AreToldOfAParameterThatIsNoneAnyMore) {
  nn::Linear model = nn::LinearConfig{.in = 2, .out = 1}.init(autodiff);
  Tensor<2>& weight = model.weight;  // behind the parameter's back
  weight = weight * 2;
  EXPECT_EQ(sentence_of([&] { return value_and_grad(model, [](const nn::Linear& m) { return m.weight.sum(); }).loss; }),
            "AutodiffError: value_and_grad: parameter 'weight' was assigned a tensor that is no parameter; write "
            "nn::Param(tensor)");
}

TEST(WrongModels, OfFunctionsTakeTheModelAsItIs) {
  struct ByReference {
    Tensor<0> operator()(const nn::Linear& m) const noexcept { return m.weight.sum(); }
  };
  const nn::Linear model = nn::LinearConfig{.in = 2, .out = 1}.init(autodiff);
  EXPECT_EQ(value_and_grad(model, ByReference()).grads.by_path.size(), 1u);
  EXPECT_EQ(value_and_grad(model, [](const auto& m) { return m.weight.sum(); }).grads.by_path.size(), 1u);
  EXPECT_EQ(value_and_grad(model, +[](const nn::Linear& m) { return m.weight.sum(); }).grads.by_path.size(), 1u);
  static_assert(std::is_same_v<nn::TakenAs<decltype([](nn::Linear) {}), nn::Linear>::type, nn::Linear>);
  static_assert(std::is_same_v<nn::TakenAs<decltype([](auto) {}), nn::Linear>::type, nn::Linear>);
  static_assert(std::is_same_v<nn::TakenAs<void (*)(nn::Linear), nn::Linear>::type, nn::Linear>);
}

struct Raw {
  nn::Linear linear;
  Tensor<1> scale, shift;
  Tensor<2> forward(const Tensor<2>& x) const { return linear.forward(x) * scale + shift; }
};

TEST(WrongModels, AreToldOnceThatATensorOfTheirsIsNotTrained) {
  const auto model = [](const Tensor<1>& scale) {
    return Raw{nn::LinearConfig{.in = 2, .out = 2}.init(autodiff), scale, zeros({2}, autodiff)};
  };
  const auto said = [](const auto& f) {
    testing::internal::CaptureStderr();
    f();
    return testing::internal::GetCapturedStderr();
  };
  // Constants, and tensors that are computed from parameters, are meant.
  const Tensor<1> leaf = ones({2}, autodiff).require_grad();
  EXPECT_EQ(said([&] { num_params(model(ones({2}, autodiff))); }), "");
  EXPECT_EQ(said([&] { num_params(model(leaf * 2)); }), "");
  constexpr auto kSentence =
      "kiln: warning: the tensor 'scale' of Raw requires gradients and is no parameter, so it is neither trained nor "
      "saved: declare it as nn::Param<1>, or detach() it. This is said once.\n";
  EXPECT_EQ(said([&] { AdamConfig{}.init(model(leaf)); }), kSentence);
  EXPECT_EQ(said([&] { num_params(model(leaf)); }), "");
}

TEST(WrongModels, WithoutParametersAreToldWhichTensorsMayBeMeant) {
  struct Plain {
    Tensor<2> weight;
    Tensor<1> bias;
  };
  const Plain plain{ones({2, 2}, autodiff), ones({2}, autodiff)};
  EXPECT_EQ(
      sentence_of([&] { AdamConfig{}.init(plain); }),
      "AutodiffError: Adam: the model has no parameters; its tensors ('weight', 'bias') are constants: declare what "
      "is trained as nn::Param<2> weight");
  EXPECT_EQ(sentence_of([&] { AdamConfig{}.init(nn::Relu{}); }), "AutodiffError: Adam: the model has no parameters");
}

}  // namespace
}  // namespace kiln
