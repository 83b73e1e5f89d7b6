// Parameters and buffers of integers and booleans: kept with their model, never trained.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

/// Weights as codes of eight bits, some of which are switched off.
struct Quantised {
  nn::Param<2, Int> codes;
  nn::Param<2, Bool> present;
  nn::Param<1> scale;
  nn::Buffer<0, Int> uses;

  /// x [3, 1] -> [2, 1]
  Tensor<2> forward(const Tensor<2>& x) const {
    uses.set(uses.get() + 1);
    const Tensor<2> weight = codes.to_float() * present.to_float() * scale.reshape<2>({2, 1});
    return weight.matmul(x);
  }
};

Quantised make_quantised(const Device& on) {
  return {.codes = nn::Param(Tensor<2, Int>::of({{1, -2, 3}, {4, 5, -6}}, on, DType::I8)),
          .present = nn::Param(Tensor<2, Bool>::of({{true, false, true}, {true, true, true}}, on)),
          .scale = nn::Param(Tensor<1>::of({0.5f, 2}, on)),
          .uses = nn::Buffer<0, Int>(Tensor<0, Int>::full({}, 0, on))};
}

TEST(ParameterKinds, AreVisitedCountedAndMoved) {
  const Quantised model = make_quantised(autodiff);
  std::vector<std::string> paths;
  visit_params(model, [&](const std::string& path, const auto& param) {
    paths.push_back(text(path, ' ', param.dtype(), param.is_frozen() ? " frozen" : ""));
  });
  EXPECT_EQ(paths, (std::vector<std::string>{"codes int8 frozen", "present bool frozen", "scale float32"}));
  EXPECT_EQ(num_params(model), 6 + 6 + 2);
  EXPECT_EQ(num_trained_params(model), 2);
  EXPECT_EQ(num_trained_params(unfreeze(model)), 2);
  const Quantised moved = to_device(model, cpu);
  EXPECT_FALSE(moved.codes.device().is_autodiff());
  EXPECT_EQ(moved.codes.to_vector<std::int8_t>(), (std::vector<std::int8_t>{1, -2, 3, 4, 5, -6}));
}

TEST(ParameterKinds, AreNotTrained) {
  Quantised model = make_quantised(autodiff);
  const Tensor<2> x = Tensor<2>::of({{1}, {10}, {100}}, autodiff);
  const auto [loss, grads] = value_and_grad(model, [&](const Quantised& m) { return m.forward(x).sum(); });
  EXPECT_EQ(loss.item(), 0.5f * 301 + 2 * (4 + 50 - 600));
  ASSERT_EQ(grads.by_path.size(), 1u);
  EXPECT_EQ(grads.find("scale")->data().to_vector<float>(), (std::vector<float>{301, -546}));
  model = AdamConfig{}.init(model).step(0.1, std::move(model), grads);
  EXPECT_EQ(model.codes.dtype(), DType::I8);
  EXPECT_EQ(model.uses.get().item(), 1);
}

TEST(ParameterKinds, AreSavedAndLoaded) {
  const Quantised model = make_quantised(autodiff);
  const std::vector<std::byte> bytes = write_safetensors(record_of(model));
  Quantised other = make_quantised(autodiff);
  other.codes = nn::Param(other.codes * 0);
  other.present = nn::Param(other.present.logical_not());
  other = from_record(view_safetensors(bytes, "file"), std::move(other), "file");
  EXPECT_EQ(other.codes.to_vector<std::int8_t>(), model.codes.to_vector<std::int8_t>());
  EXPECT_EQ(other.present.to_vector(), model.present.to_vector());
}

TEST(ParameterKinds, AreTold) {
  EXPECT_EQ(sentence_of([] { nn::Param<1, Int>(ones({2}, autodiff).value()); }),
            "DTypeError: expected a tensor of integers, got float32 [2]");
}

}  // namespace
}  // namespace kiln
