// Gradients that are right, and gradients that are not.
#include "kiln/nn/check_gradients.hpp"

#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

struct Tied {
  nn::Linear first;
  nn::LayerNorm norm;
  nn::Linear last;
  nn::Dropout dropout{.probability = 0};

  Tensor<2> forward(const Tensor<2>& x) const {
    return last.forward(dropout.forward(norm.forward(first.forward(x).tanh())));
  }
};

Tied tied() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  Tied made{nn::LinearConfig{.in = 3, .out = 3}.init(device), nn::LayerNormConfig{.size = 3}.init(device), {}};
  made.last = made.first;
  return made;
}

Tensor<0> loss_of(const Tied& model) {
  const auto x = Tensor<2>::of({{0.3, -1, 2}, {1, 0.5, -0.7}}, Device::cpu().autodiff());
  return model.forward(x).square().mean();
}

TEST(CheckGradients, AcceptsThoseOfLayersAndChangesNothing) {
  const Tied model = tied();
  const std::vector<float> before = model.first.weight.value().data().to_vector<float>();
  check_gradients(model, loss_of);
  check_gradients(model, [](const Tied& m) { return loss_of(m); }, {.step = 1e-4, .tolerance = 1e-4, .elements = 2});
  EXPECT_EQ(model.first.weight.value().data().to_vector<float>(), before);
  EXPECT_EQ(model.first.weight.value().dtype(), DType::F32);
}

TEST(CheckGradients, NameTheParameterWhoseGradientIsWrong) {
  const Tied model = tied();
  // The gradient of w w' is 2 w; detached, half of it.
  const auto half = [](const Tied& m) {
    const Tensor<2> w(m.first.weight.value());
    return loss_of(m) + (w * w.detach()).sum();
  };
  const std::string said = sentence_of([&] { check_gradients(model, half); });
  EXPECT_TRUE(said.starts_with("AutodiffError: check_gradients: the gradient of element 0 of 'first.weight' is "))
      << said;
  EXPECT_NE(said.find(", and differences of the loss say "), std::string::npos) << said;
  // A parameter that only detached values reach.
  const auto none = [](const Tied& m) { return loss_of(m) + Tensor<1>(m.norm.weight.value().detach()).exp().sum(); };
  EXPECT_NE(sentence_of([&] { check_gradients(model, none); }).find("'norm.weight'"), std::string::npos);
}

TEST(CheckGradients, LeaveOutWhatIsFrozen) {
  const Tied model = freeze(tied(), Selector("norm.weight"));
  check_gradients(model,
                  [](const Tied& m) { return loss_of(m) + Tensor<1>(m.norm.weight.value().detach()).exp().sum(); });
}

TEST(CheckGradients, RefuseALossThatIsNotTheSameTwice) {
  Tied model = train(tied());
  model.dropout.probability = 0.5;
  EXPECT_NE(sentence_of([&] { check_gradients(model, loss_of); }).find("switch dropout off by valid(model)"),
            std::string::npos);
  EXPECT_EQ(
      sentence_of([&] { check_gradients(tied(), [](const Tied& m) { return loss_of(m) * (0.0 / 0.0); }); }),
      "ArgumentError: check_gradients: the loss is nan, which has no differences: look for NaN in the model and in "
      "the data");
  EXPECT_EQ(sentence_of([&] { check_gradients(model, loss_of, {.elements = 0}); }),
            "ArgumentError: check_gradients: step = 1e-05, tolerance = 1e-05 and elements = 0 must be positive");
}

}  // namespace
}  // namespace kiln
