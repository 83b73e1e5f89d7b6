// Trainings that PyTorch began and Kiln goes on with.
#include "kiln/store/pytorch_optimizer.hpp"

#include <gtest/gtest.h>

#include "kiln/nn/nn.hpp"
#include "kiln/optim/optim.hpp"

#include "../nn/sines.hpp"
#include "formats/samples.hpp"
#include "pytorch_checkpoints.hpp"
#include "temporary.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Linear a, b;
  Tensor<0> loss() const {
    const Tensor<2> x = sines_of<2>({4, 2}, .9, .5), y = sines_of<2>({4, 1}, .7, .1);
    return (b.forward(a.forward(x).tanh()) - y).square().mean();
  }
};
Model make_model() {
  const Device device = Device::cpu().autodiff();
  return {nn::LinearConfig{.in = 2, .out = 3}.init(device), nn::LinearConfig{.in = 3, .out = 1}.init(device)};
}

template <class Config>
void expect_pytorchs_steps(const Config& config, const PytorchCheckpoint& checkpoint) {
  const TemporaryFile file("checkpoint.pt");
  write_text(file.path, checkpoint.file);
  Model model = make_model();
  load(model, file.path, {.under = "model"});
  auto optimizer = config.init(model);
  EXPECT_TRUE(load_pytorch_optimizer(optimizer, model, file.path, {.under = "optimizer"}).complete());
  for (int step = 0; step < 3; ++step) {
    auto [loss, grads] = value_and_grad(model, [](const Model& m) { return m.loss(); });
    model = optimizer.step(0.05, std::move(model), grads);
  }
  std::vector<double> found;
  visit_params(model, [&](const std::string&, const nn::AnyLeaf& param) {
    for (const float number : param.to_vector()) found.push_back(number);
  });
  ASSERT_EQ(found.size(), checkpoint.later.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], checkpoint.later[i], 1e-5) << i;
}

TEST(PytorchOptimizer, AdamWGoesOnAsPyTorchWouldHave) {
  expect_pytorchs_steps(AdamWConfig{.weight_decay = 0.1, .amsgrad = true}, kAdamWCheckpoint);
}
TEST(PytorchOptimizer, SgdGoesOnAsPyTorchWouldHave) {
  expect_pytorchs_steps(SgdConfig{.momentum = 0.9}, kSgdCheckpoint);
}

TEST(PytorchOptimizer, SaysWhatDoesNotFit) {
  const TemporaryFile file("checkpoint.pt");
  write_text(file.path, kAdamWCheckpoint.file);
  const Model model = make_model();
  Sgd sgd = SgdConfig{.momentum = 0.9}.init(model);
  const std::string error = error_of([&] { load_pytorch_optimizer(sgd, model, file.path, {.under = "optimizer"}); });
  EXPECT_NE(error.find("'a.weight.velocity' is missing"), std::string::npos) << error;

  const std::vector<std::string> params = {"w"};
  const auto refused = [&](const char* name) {
    TensorSource state;
    state.tensors.emplace(name, stored(TensorData({}, DType::F32)));
    return error_of([&] { from_pytorch_optimizer(state, params, "c.pt"); });
  };
  EXPECT_EQ(refused("state.1.exp_avg"),
            "LoadError: c.pt: 'state.1.exp_avg' is of one parameter more than the 1 of the model");
  for (const char* name : {"state.0.square_avg", "state.x.exp_avg", "state.0", "state.-1.step", "state.0exp_avg"})
    EXPECT_EQ(refused(name),
              text("LoadError: c.pt: '", name, "' is nothing that Adam, AdamW or SGD keep of a parameter"));
}

}  // namespace
}  // namespace kiln
