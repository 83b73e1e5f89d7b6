// Programs as users write them around a model, step by step against PyTorch's (recipes/torch_figures.py): the losses of two
// optimizers that work against each other, of fine-tuning, of adapters, and of learning to learn.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "kiln/optim.hpp"
#include "tests/models/waves.hpp"
#include "tests/support/devices.hpp"

#include "recipes/torch_figures.hpp"

namespace kiln {
namespace {

using test::autodiff;

nn::Linear linear(std::int64_t in, std::int64_t out, bool bias = true) {
  return nn::LinearConfig{.in = in, .out = out, .bias = bias}.init(autodiff);
}

struct Mlp {
  nn::Linear a, b;
  Tensor<2> forward(const Tensor<2>& x) const { return b.forward(a.forward(x).tanh()); }
};
Mlp make_mlp(std::int64_t in, std::int64_t hidden, std::int64_t out) {
  return filled(Mlp{linear(in, hidden), linear(hidden, out)});
}

struct Normed {
  nn::Linear a;
  nn::BatchNorm norm;
  nn::Linear b;
  Tensor<2> forward(const Tensor<2>& x) const { return b.forward(norm.forward(a.forward(x)).gelu()); }
};

struct Generator {
  nn::Linear seed, u, v;
  Tensor<2> forward(const Tensor<2>& z) const {
    return v.forward(u.forward(seed.forward(z).leaky_relu(0.2)).leaky_relu(0.2));
  }
};

class Recipes : public testing::Test {
 protected:
  /// A step down the loss, which it notes.
  template <class M, class O, class F>
  void step(O& optimizer, double rate, M& model, F&& loss) {
    auto [value, grads] = value_and_grad(model, loss);
    losses_.push_back(value.template item<double>());
    model = optimizer.step(rate, std::move(model), grads);
  }

  Tensor<2> x_ = wave_tensor<2>("x", {16, 4}), y_ = wave_tensor<2>("y", {16, 3}), z_ = wave_tensor<2>("z", {16, 2});
  std::vector<double> losses_;
};

TEST_F(Recipes, TwoOptimizersWorkAgainstEachOther) {
  Generator generator = filled(Generator{linear(2, 4), linear(4, 4), linear(4, 4)});
  generator.v.weight = generator.u.weight;
  Mlp critic = make_mlp(4, 8, 1);
  Adam of_generator = AdamConfig{.beta1 = 0.5, .beta2 = 0.9}.init(generator);
  RmsProp of_critic = RmsPropConfig{}.init(critic);
  const Tensor<2> one = Tensor<2>::ones({16, 1}, autodiff), zero = Tensor<2>::zeros({16, 1}, autodiff);
  for (int i = 0; i < 6; ++i) {
    const Tensor<2> made = generator.forward(z_).detach();
    step(of_critic, 0.01, critic, [&](const Mlp& c) {
      return binary_cross_entropy_with_logits(c.forward(x_), one) +
             binary_cross_entropy_with_logits(c.forward(made), zero);
    });
    step(of_generator, 0.01, generator,
         [&](const Generator& g) { return binary_cross_entropy_with_logits(critic.forward(g.forward(z_)), one); });
  }
  expect_figures(losses_, kAdversaries, 1e-5);
  EXPECT_EQ(num_params(generator), 12 + 16 + 8);
}

TEST_F(Recipes, TheHeadIsTrainedFirstAndThenTheRestMoreSlowly) {
  Normed model = filled(Normed{linear(4, 6, false), nn::BatchNormConfig{.channels = 6}.init(autodiff), linear(6, 3)});
  model = with_mode<nn::BatchNorm>(train(std::move(model)), nn::Mode::Valid);
  model = freeze(std::move(model), !Selector("b"));
  const AdamWConfig rule{.weight_decay = 0.1};
  AnyOptimizer optimizer(rule, model, {.groups = {{.params = !Selector("b"), .rule = rule, .rate = 0.1}}});
  const Tensor<1, Int> labels = arange(16, autodiff).remainder(3);
  const auto loss = [&](const Normed& m) { return cross_entropy(m.forward(x_), labels); };
  for (int i = 0; i < 4; ++i) step(optimizer, 0.01, model, loss);
  model = train(unfreeze(std::move(model)));
  for (int i = 0; i < 4; ++i) step(optimizer, 0.01, model, loss);
  losses_.push_back(loss(valid(model)).item<double>());
  expect_figures(losses_, kFineTuning, 1e-5);
}

TEST_F(Recipes, AdaptersLearnBesideAFrozenModel) {
  Adapted<Mlp> model = adapted(make_mlp(4, 6, 3));
  model.add("style", LoraConfig{.rank = 2, .alpha = 4});
  visit_params(model.adapters, [](const std::string& path, nn::AnyLeaf& param) {
    const bool first = path == "style.parts.a.weight.a";
    if (first || path == "style.parts.b.weight.a")
      param.set(from_data(wave(first ? "a1" : "a2", param.value().shape(), 0.5), autodiff));
  });
  Adam optimizer = AdamConfig{}.init(model);
  for (int i = 0; i < 6; ++i)
    step(optimizer, 0.02, model, [&](const Adapted<Mlp>& m) { return (m.forward(x_) - y_).square().mean(); });
  expect_figures(losses_, kLowRank, 1e-5);
}

TEST_F(Recipes, ModelsLearnToLearn) {
  Mlp model = make_mlp(4, 6, 3);
  Adam optimizer = AdamConfig{}.init(model);
  const auto loss_on = [&](const Mlp& m, const ParamValues& params, std::int64_t from) {
    return (functional_call(m, params, x_.narrow(0, from, 4)) - y_.narrow(0, from, 4)).square().mean();
  };
  const auto learned = [&](const Mlp& m, std::int64_t task) {
    ParamValues params = values_of(m);
    for (int i = 0; i < 2; ++i) {
      Values wrt;
      for (const auto& [path, value] : params) wrt.push_back(value);
      const Values grads = grad(loss_on(m, params, 4 * task).value(), wrt, {.create_graph = true});
      std::size_t next = 0;
      for (auto& [path, value] : params) value = value - grads[next++] * 0.1;
    }
    return params;
  };
  for (int i = 0; i < 5; ++i)
    step(optimizer, 0.01, model, [&](const Mlp& m) {
      return loss_on(m, learned(m, 0), 12) + loss_on(m, learned(m, 1), 12) + loss_on(m, learned(m, 2), 12);
    });
  expect_figures(losses_, kMetaLearning, 1e-5);
}

}  // namespace
}  // namespace kiln
