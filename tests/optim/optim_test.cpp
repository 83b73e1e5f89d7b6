// Optimizers against their published formulas, written out as loops in float64 over one parameter at a time.
#include "kiln/optim.hpp"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "kiln/nn/linear.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

struct Model {
  nn::Param<1> weight;
  nn::Param<1> other;
};
const std::vector<double> kStart = {1.0, -2.0, 0.5};

Model make_model() {
  return {.weight = nn::Param<1>(Tensor<1>::of({1.0, -2.0, 0.5}, autodiff, DType::F64)),
          .other = nn::Param<1>(Tensor<1>::of({4.0}, autodiff, DType::F64))};
}

/// The gradient of step `t` for element `i`: any sequence will do.
double gradient(int t, std::size_t i) { return std::sin(1.3 * t + 2.1 * static_cast<double>(i)) + 0.1; }

GradientsParams gradients(int t) {
  GradientsParams grads;
  const std::vector<double> values{gradient(t, 0), gradient(t, 1), gradient(t, 2)};
  grads.by_path["weight"] = Tensor<1>::of(values, autodiff).value();
  return grads;
}

/// Ten steps of the optimizer; make_reference() gives the loop body for one element: (x, g, t) -> next x, t from 1.
template <class Config, class Reference>
void expect_follows(const Config& config, double rate, Reference make_reference) {
  Model model = make_model();
  auto optimizer = config.init(model);
  std::vector<double> expected = kStart;
  std::vector<decltype(make_reference())> references(3, make_reference());
  for (int t = 1; t <= 10; ++t) {
    model = optimizer.step(rate, std::move(model), gradients(t));
    for (std::size_t i = 0; i < 3; ++i) expected[i] = references[i](expected[i], gradient(t, i), t);
    const auto actual = model.weight.to_vector<double>();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << "step " << t << ", element " << i;
  }
}

/// Notes how many elements each thing has that is made.
class Noting final : public test::Forwarding {
 public:
  using Forwarding::Forwarding;
  std::string name() const override { return "noting"; }
  void run(const op::Op& op, Call call) override {
    Forwarding::run(op, call);
    if (const std::int64_t size = call.out[0].numel(); sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  std::vector<std::int64_t> sizes;
};

// Where ranks add up gradients, those of the first parameters are the last to come.
TEST(Optimizers, UpdateTheLastParametersFirst) {
  const auto noting = make_ref<Noting>(Device::parse("reference").handle());
  const Device device = Device(noting, true).autodiff();
  struct Three {
    nn::Param<1> a, b, c;
  } model{nn::Param<1>(ones({2}, device)), nn::Param<1>(ones({3}, device)), nn::Param<1>(ones({5}, device))};
  GradientsParams grads;
  visit_params(model, [&](const std::string& path, const auto& param) { grads.by_path[path] = param.value(); });
  Adam adam = AdamConfig{}.init(model);
  for (int step = 0; step < 2; ++step) {
    noting->sizes.clear();
    model = adam.step(0.1, std::move(model), grads);
    std::erase(noting->sizes, 1);  // powers of the betas
    EXPECT_EQ(noting->sizes, (std::vector<std::int64_t>{5, 3, 2}));
  }
}

TEST(Sgd, WithoutMomentumIsAStepDownTheGradient) {
  expect_follows(SgdConfig{.weight_decay = 0.1}, 0.05,
                 [] { return [](double x, double g, int) { return x - 0.05 * (g + 0.1 * x); }; });
}

TEST(Sgd, KeepsAVelocityThatTheFirstGradientBegins) {
  expect_follows(SgdConfig{.momentum = 0.9, .dampening = 0.2, .weight_decay = 0.1}, 0.05, [] {
    return [v = 0.0](double x, double g, int t) mutable {
      g += 0.1 * x;
      v = t == 1 ? g : 0.9 * v + 0.8 * g;
      return x - 0.05 * v;
    };
  });
}

TEST(Sgd, LooksAheadWithNesterov) {
  expect_follows(SgdConfig{.momentum = 0.9, .nesterov = true}, 0.05, [] {
    return [v = 0.0](double x, double g, int) mutable {
      v = 0.9 * v + g;
      return x - 0.05 * (g + 0.9 * v);
    };
  });
}

/// Algorithm 1 of the paper.
struct AdamReference {
  double decay = 0, decoupled_decay = 0;
  double m = 0, v = 0;
  double operator()(double x, double g, int t) {
    x -= 0.05 * decoupled_decay * x;
    g += decay * x;
    m = 0.8 * m + 0.2 * g;
    v = 0.95 * v + 0.05 * g * g;
    return x - 0.05 * (m / (1 - std::pow(0.8, t))) / (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-3);
  }
};

TEST(Adam, FollowsThePapersAlgorithm) {
  expect_follows(AdamConfig{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}, 0.05, [] { return AdamReference{}; });
  expect_follows(AdamConfig{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3}, 0.05,
                 [] { return AdamReference{.decay = 0.3}; });
}

// As PyTorch's, so that a program that names none trains as it did there.
TEST(Optimizer, HasTheUsualDefaults) {
  const AdamConfig adam;
  EXPECT_EQ(std::tuple(adam.beta1, adam.beta2, adam.epsilon, adam.weight_decay), std::tuple(0.9, 0.999, 1e-8, 0.0));
  const AdamWConfig adamw;
  EXPECT_EQ(std::tuple(adamw.beta1, adamw.beta2, adamw.epsilon, adamw.weight_decay),
            std::tuple(0.9, 0.999, 1e-8, 0.01));
  const SgdConfig sgd;
  EXPECT_EQ(std::tuple(sgd.momentum, sgd.dampening, sgd.weight_decay, sgd.nesterov), std::tuple(0.0, 0.0, 0.0, false));
}

TEST(AdamW, ShrinksTheParameterItself) {
  expect_follows(AdamWConfig{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3}, 0.05,
                 [] { return AdamReference{.decoupled_decay = 0.3}; });
}

TEST(Optimizer, LeavesParametersWithoutAGradientAlone) {
  const Model model = make_model();
  auto optimizer = AdamConfig{}.init(model);
  const Model next = optimizer.step(0.1, model, gradients(1));
  EXPECT_EQ(next.other.value().node(), model.other.value().node());
  EXPECT_EQ(optimizer.states().at("other").steps, 0);
  EXPECT_EQ(optimizer.states().at("weight").steps, 1);
  EXPECT_EQ(model.weight.to_vector<double>(), kStart);  // a copy was updated
}

TEST(Optimizer, MakesFreshLeavesThatCanBeDifferentiated) {
  Model model = make_model();
  auto optimizer = SgdConfig{.momentum = 0.9}.init(model);
  const auto before = model.weight.value().tape();
  model = optimizer.step(0.1, std::move(model), gradients(1));
  EXPECT_TRUE(model.weight.tracked());
  EXPECT_FALSE(model.weight.value().tape() == before);
  EXPECT_FALSE(optimizer.states().at("weight").slots[0].tracked());
  const auto [loss, grads] = value_and_grad(model, [](const Model& m) { return m.weight.sum(); });
  EXPECT_EQ(grads.find("weight")->data().to_vector<double>(), (std::vector<double>{1, 1, 1}));
}

TEST(Optimizer, LearnsALine) {
  nn::Linear model = nn::LinearConfig{.in = 1, .out = 1}.init(autodiff);
  auto optimizer = AdamConfig{}.init(model);
  const auto x = Tensor<2>::of({{-1}, {0}, {1}, {2}}, autodiff);
  const auto y = x * 3.0 - 1.0;
  for (int step = 0; step < 500; ++step) {
    auto [loss, grads] = value_and_grad(model, [&](const nn::Linear& m) { return (m.forward(x) - y).square().mean(); });
    model = optimizer.step(0.05, std::move(model), grads);
  }
  EXPECT_NEAR(model.weight.data().at(0), 3, 1e-3);
  EXPECT_NEAR(model.bias.data().at(0), -1, 1e-3);
}

TEST(Optimizer, RefusesAParameterOfAnotherShape) {
  const auto linear = [](std::int64_t out) { return nn::LinearConfig{.in = 2, .out = out}.init(autodiff); };
  const auto slopes = [](const nn::Linear& model) {
    return value_and_grad(model, [](const nn::Linear& m) { return m.weight.sum() + m.bias.sum(); }).grads;
  };
  // Each state would broadcast to the other's parameter.
  for (const auto& [made, used] : {std::pair(4, 1), std::pair(1, 4)}) {
    nn::Linear model = linear(made), other = linear(used);
    Adam optimizer = AdamConfig{}.init(model);
    model = optimizer.step(0.1, std::move(model), slopes(model));
    EXPECT_EQ(sentence_of([&] { return optimizer.step(0.1, other, slopes(other)); }),
              text("ShapeError: Adam: the state of 'bias' belongs to a parameter of another shape, [", made,
                   "], this one has [", used,
                   "]: make an optimizer for this model by init(), or forget the state by remove('bias')"));
    optimizer.remove("weight");
    optimizer.remove("bias");
    EXPECT_EQ(optimizer.step(0.1, other, slopes(other)).weight.shape(), (Shape{used, 2}));
  }
}

TEST(Optimizer, RefusesAnAverageOfAnotherShape) {
  const auto linear = [](std::int64_t out) { return nn::LinearConfig{.in = 2, .out = out}.init(autodiff); };
  for (const auto& [made, used] : {std::pair(4, 1), std::pair(1, 4)}) {
    nn::Linear model = linear(made);
    const nn::Linear other = linear(used);
    auto optimizer = ScheduleFreeAdamWConfig{}.init(model);
    const auto slopes = value_and_grad(model, [](const nn::Linear& m) { return m.weight.sum() + m.bias.sum(); }).grads;
    model = optimizer.step(0.1, std::move(model), slopes);
    optimizer.remove("weight");
    EXPECT_EQ(sentence_of([&] { return optimizer.averaged(other); }),
              text("ShapeError: ScheduleFreeAdamW: the state of 'bias' belongs to a parameter of another shape, [",
                   made, "], this one has [", used,
                   "]: make an optimizer for this model by init(), or forget the state by remove('bias')"));
    optimizer.remove("bias");
    EXPECT_EQ(optimizer.averaged(other).bias.shape(), (Shape{used}));
  }
}

TEST(Optimizer, SaysWhatIsWrong) {
  const nn::Linear plain = nn::LinearConfig{.in = 1, .out = 1}.init(Device::cpu());
  EXPECT_EQ(sentence_of([&] { AdamConfig{}.init(plain); }),
            "AutodiffError: Adam: parameter 'weight' was made on the plain device cpu; make the model on "
            "device.autodiff()");
  const Model model = make_model();
  EXPECT_EQ(sentence_of([&] { AdamConfig{.beta1 = 1}.init(model); }),
            "ArgumentError: AdamConfig: beta1 = 1 must lie in [0, 1)");
  EXPECT_EQ(sentence_of([&] { AdamWConfig{.epsilon = -1}.init(model); }),
            "ArgumentError: AdamWConfig: epsilon = -1 must be positive");
  EXPECT_EQ(sentence_of([&] { SgdConfig{.momentum = -1}.init(model); }),
            "ArgumentError: SgdConfig: momentum = -1 must not be negative");
  EXPECT_EQ(sentence_of([&] { SgdConfig{.nesterov = true}.init(model); }),
            "ArgumentError: SgdConfig: Nesterov's form needs a momentum and no dampening");
  auto optimizer = SgdConfig{}.init(model);
  EXPECT_EQ(sentence_of([&] { optimizer.step(NAN, model, gradients(1)); }),
            "ArgumentError: Sgd: a learning rate of nan");
  EXPECT_EQ(sentence_of([&] { optimizer.step(-1, model, gradients(1)); }), "ArgumentError: Sgd: a learning rate of -1");
  GradientsParams wrong;
  wrong.by_path["weight"] = ones({2}, autodiff, DType::F64);
  EXPECT_EQ(sentence_of([&] { optimizer.step(0.1, model, wrong); }),
            "ShapeError: Sgd: the gradient of 'weight' has shape [2], the parameter [3]");
}

GradientsParams two_gradients() {
  GradientsParams grads;
  grads.by_path["a"] = Tensor<1>::of({3, 0}, autodiff).value();
  grads.by_path["b"] = Tensor<2>::of({{0, -4}}, autodiff).value();
  return grads;
}

TEST(Clip, ScalesAllGradientsToAGlobalNorm) {
  EXPECT_FLOAT_EQ(global_norm(two_gradients()).item(), 5);  // sqrt(3^2 + 4^2)
  const GradientsParams clipped = clip_by_global_norm(two_gradients(), 1.0);
  EXPECT_NEAR(clipped.find("a")->data().at(0), 0.6, 1e-6);
  EXPECT_NEAR(clipped.find("b")->data().at(1), -0.8, 1e-6);
}

TEST(Clip, LeavesSmallGradientsAsTheyAre) {
  const GradientsParams clipped = clip_by_global_norm(two_gradients(), 6.0);
  EXPECT_EQ(clipped.find("b")->data().to_vector<float>(), (std::vector<float>{0, -4}));
  EXPECT_TRUE(clip_by_global_norm({}, 1.0).by_path.empty());
}

TEST(Clip, KeepsEachElementWithinAValue) {
  const GradientsParams clipped = clip_by_value(two_gradients(), 3.5);
  EXPECT_EQ(clipped.find("a")->data().to_vector<float>(), (std::vector<float>{3, 0}));
  EXPECT_EQ(clipped.find("b")->data().to_vector<float>(), (std::vector<float>{0, -3.5}));
}

TEST(Clip, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { clip_by_global_norm(two_gradients(), 0); }),
            "ArgumentError: clip_by_global_norm: a limit of 0 is not positive");
  EXPECT_EQ(sentence_of([] { clip_by_value(two_gradients(), -1); }),
            "ArgumentError: clip_by_value: a limit of -1 is not positive");
  EXPECT_EQ(sentence_of([] { global_norm({}); }), "ArgumentError: global_norm: there are no gradients");
}

template <class Config>
std::vector<double> rates(const Config& config, int count) {
  auto schedule = config.init();
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(schedule.next());
  return result;
}
void expect_rates(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << "step " << i;
}

TEST(Schedule, StaysConstant) { expect_rates(rates(ConstantConfig{.rate = 0.3}, 3), {0.3, 0.3, 0.3}); }

TEST(Schedule, WarmsUpAndFallsAlongACosine) {
  const double half = std::sqrt(0.5) / 2;  // cos(pi / 4) / 2
  expect_rates(rates(CosineConfig{.peak = 1, .warmup = 2, .steps = 6}, 8),
               {0.5, 1, 1, 0.5 + half, 0.5, 0.5 - half, 0, 0});
  expect_rates(rates(CosineConfig{.peak = 3, .steps = 2, .floor = 1}, 4), {3, 2, 1, 1});
}

TEST(Schedule, FallsInSteps) {
  expect_rates(rates(StepConfig{.initial = 8, .every = 2, .factor = 0.5}, 6), {8, 8, 4, 4, 2, 2});
}

TEST(Schedule, FallsInAStraightLine) {
  expect_rates(rates(LinearRateConfig{.initial = 4, .final = 1, .steps = 3}, 5), {4, 3, 2, 1, 1});
}

TEST(Schedule, GoesOnWhereItWas) {
  auto schedule = StepConfig{.initial = 8, .every = 2, .factor = 0.5}.init();
  schedule.step = 3;
  EXPECT_EQ(schedule.next(), 4);
  EXPECT_EQ(schedule.next(), 2);
}

TEST(Schedule, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { CosineConfig{.warmup = 5, .steps = 5}.init(); }),
            "ArgumentError: CosineConfig: warmup = 5 must be at least 0 and below steps = 5");
  EXPECT_EQ(sentence_of([] { StepConfig{.every = 0}.init(); }),
            "ArgumentError: StepConfig: every = 0 must be positive");
  EXPECT_EQ(sentence_of([] { LinearRateConfig{.steps = 0}.init(); }),
            "ArgumentError: LinearRateConfig: steps = 0 must be positive");
}

}  // namespace
}  // namespace kiln
