// Parameters in half precision, and gradients that half precision can hold.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/core/half.hpp"
#include "kiln/optim.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

struct Model {
  nn::Param<1> weight;
};
Model make_model(DType dtype) { return {.weight = nn::Param<1>(Tensor<1>::of({1.0, -2.0}, autodiff, dtype))}; }
GradientsParams gradients(const std::vector<double>& values, DType dtype = DType::F32) {
  GradientsParams grads;
  grads.by_path["weight"] = Tensor<1>::of(values, autodiff).to(dtype).value();
  return grads;
}
std::vector<double> weight_of(const Model& model) { return model.weight.to_vector<double>(); }

// A step of 1e-4 is below half of bfloat16's distance between neighbours at 1, which is 2^-8.
TEST(HalfParameters, MoveByStepsThatTheyCannotHold) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    Model model = make_model(dtype);
    auto optimizer = SgdConfig{}.init(model);
    for (int step = 0; step < 300; ++step) model = optimizer.step(1e-4, std::move(model), gradients({1, 1}, dtype));
    const auto rounded = [dtype](double x) { return dtype == DType::BF16 ? float(BF16(x)) : float(F16(x)); };
    EXPECT_EQ(model.weight.dtype(), dtype);
    EXPECT_EQ(weight_of(model), (std::vector<double>{rounded(1 - 0.03), rounded(-2 - 0.03)}));
  }
}

// 100 steps of 1e-4 each; then the second weight is set, and 200 more.
TEST(HalfParameters, GoOnFromWhatTheyWereSetTo) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    Model model = make_model(dtype);
    auto optimizer = SgdConfig{}.init(model);
    const auto take = [&](int steps) {
      while (steps-- > 0) model = optimizer.step(1e-4, std::move(model), gradients({1, 1}, dtype));
    };
    take(100);
    model = map_params(std::move(model),
                       [](const std::string&, const Value& weight) { return maximum(weight.detach(), -0.5); });
    take(200);
    const auto rounded = [dtype](double x) { return dtype == DType::BF16 ? float(BF16(x)) : float(F16(x)); };
    EXPECT_EQ(weight_of(model), (std::vector<double>{rounded(1 - 0.03), rounded(-0.5 - 0.02)}));
  }
}

TEST(HalfParameters, HaveMomentsInFloat32) {
  Model model = make_model(DType::BF16);
  auto optimizer = AdamConfig{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}.init(model);
  double x = 1, m = 0, v = 0;
  for (int t = 1; t <= 20; ++t) {
    const double g = float(BF16(std::sin(t) + 0.5));
    model = optimizer.step(0.01, std::move(model), gradients({g, g}, DType::BF16));
    m = 0.8 * m + 0.2 * g;
    v = 0.95 * v + 0.05 * g * g;
    x -= 0.01 * (m / (1 - std::pow(0.8, t))) / (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-3);
  }
  const ParamState& state = optimizer.states().at("weight");
  EXPECT_EQ(state.slots[0].dtype(), DType::F32);
  EXPECT_NEAR(state.slots[0].data().at(0), m, 1e-6);
  EXPECT_NEAR(state.slots[1].data().at(0), v, 1e-6);
  EXPECT_NEAR(state.master.data().at(0), x, 1e-6);
  EXPECT_EQ(weight_of(model)[0], float(BF16(state.master.data().at(0))));
}

TEST(HalfParameters, AreSavedWithTheirMasters) {
  const auto names = [](const auto& optimizer) {
    std::vector<std::string> list;
    optimizer.visit_state([&](const std::string& name, const auto&) { list.push_back(name); });
    return list;
  };
  EXPECT_EQ(names(SgdConfig{.momentum = 0.9}.init(make_model(DType::F16))),
            (std::vector<std::string>{"weight.velocity", "weight.master", "weight.steps"}));
  EXPECT_EQ(names(SgdConfig{.momentum = 0.9}.init(make_model(DType::F32))),
            (std::vector<std::string>{"weight.velocity", "weight.steps"}));
}

TEST(GradientScaler, ScalesLossesAndUnscalesGradients) {
  GradientScaler scaler = GradientScalerConfig{.exponent = 10}.init();
  EXPECT_EQ(scaler.scale(), 1024);
  const auto loss = scaler.scale(Tensor<0>::of(0.25, autodiff, DType::F16));
  EXPECT_EQ(loss.dtype(), DType::F32);
  EXPECT_EQ(loss.item(), 256);
  const GradientsParams grads = scaler.unscale(gradients({1024, 1e-7}));
  EXPECT_FLOAT_EQ(grads.find("weight")->data().at(0), 1);
  EXPECT_FLOAT_EQ(grads.find("weight")->data().at(1), 1e-7 / 1024);
  // Half gradients come back in float32: 2^-24 is float16's smallest number.
  const GradientsParams small = scaler.unscale(gradients({0x1p-24, 1}, DType::F16));
  EXPECT_EQ(small.find("weight")->dtype(), DType::F32);
  EXPECT_EQ(small.find("weight")->data().at(0), 0x1p-34);
}

TEST(GradientScaler, GrowsAfterStepsWithoutOverflowAndBacksOffAfterOne) {
  GradientScaler scaler = GradientScalerConfig{.exponent = 4, .interval = 3}.init();
  const auto scales = [&](const std::vector<double>& firsts) {
    std::vector<double> list;
    for (const double first : firsts) {
      scaler.unscale(gradients({first, 1}));
      list.push_back(scaler.scale());
    }
    return list;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(scales({1, 1, 1, 1, 1}), (std::vector<double>{16, 16, 32, 32, 32}));
  EXPECT_EQ(scales({kInfinity, 1, 1, 1}), (std::vector<double>{16, 16, 16, 32}));  // and counts anew
  EXPECT_EQ(scales({-kInfinity, std::nan("")}), (std::vector<double>{16, 8}));
}

TEST(GradientScaler, LeavesAStepOutThatOverflowed) {
  Model model = make_model(DType::F16);
  auto optimizer = AdamConfig{}.init(model);
  GradientScaler scaler = GradientScalerConfig{}.init();
  const GradientsParams none = scaler.unscale(gradients({std::numeric_limits<double>::infinity(), 1}, DType::F16));
  EXPECT_TRUE(none.by_path.empty());
  model = optimizer.step(0.1, std::move(model), clip_by_global_norm(none, 1.0));
  EXPECT_EQ(weight_of(model), (std::vector<double>{1, -2}));
  EXPECT_EQ(optimizer.states().at("weight").steps, 0);
}

TEST(GradientScaler, KeepsToTheRangeOfFloat32) {
  GradientScaler large = GradientScalerConfig{.exponent = 127, .interval = 1}.init();
  large.unscale(gradients({1, 1}));
  EXPECT_EQ(large.scale(), 0x1p127);
  GradientScaler small = GradientScalerConfig{.exponent = -126}.init();
  small.unscale(gradients({std::nan(""), 1}));
  EXPECT_EQ(small.scale(), 0x1p-126);
}

TEST(GradientScaler, IsSavedAsTwoNumbers) {
  GradientScaler scaler = GradientScalerConfig{.exponent = 4, .interval = 3}.init();
  scaler.unscale(gradients({1, 1}));
  std::map<std::string, std::int64_t> parts;
  scaler.visit_state([&](const std::string& name, const std::int64_t& part) { parts[name] = part; });
  EXPECT_EQ(parts, (std::map<std::string, std::int64_t>{{"exponent", 4}, {"steps", 1}}));
  GradientScaler other = GradientScalerConfig{.interval = 3}.init();
  other.visit_state([&](const std::string& name, std::int64_t& part) { part = parts.at(name); });
  other.unscale(gradients({1, 1}));
  other.unscale(gradients({1, 1}));
  EXPECT_EQ(other.scale(), 32);  // the third step in all
}

TEST(GradientScaler, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { return GradientScalerConfig{.exponent = 200}.init(); }),
            "ArgumentError: GradientScalerConfig: exponent = 200 must lie in [-126, 127]");
  EXPECT_EQ(sentence_of([] { return GradientScalerConfig{.interval = 0}.init(); }),
            "ArgumentError: GradientScalerConfig: interval = 0 must be positive");
}

}  // namespace
}  // namespace kiln
