// A Learner trains a model on two parts to the bits of one device, and goes on from its checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/data/loader.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/learner.hpp"
#include "tests/backend/router/parts.hpp"
#include "tests/train/fresh_directory.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

struct Curve {
  nn::Linear hidden;
  nn::Dropout dropout{.probability = 0.25};
  nn::Linear output;

  /// x [batch, 1] -> [batch, 1]
  Tensor<2> forward(const Tensor<2>& x) const { return output.forward(dropout.forward(hidden.forward(x).tanh())); }
};

Curve curve(const Device& device) {
  device.seed(3);
  return {.hidden = nn::LinearConfig{.in = 1, .out = 8}.init(device),
          .output = nn::LinearConfig{.in = 8, .out = 1}.init(device)};
}

std::vector<float> batched(std::span<const float> numbers) { return {numbers.begin(), numbers.end()}; }

/// Trains x -> x^2 until that step, from the newest checkpoint in the directory on.
Curve trained(const Device& device, Curve model, const fs::path& directory, std::int64_t steps) {
  const auto step = [device](const Curve& m, std::vector<float> numbers) -> RegressionOutput {
    const auto count = static_cast<std::int64_t>(numbers.size());
    const auto x = Tensor<2>::of(numbers, {count, 1}, device.inner());
    const Tensor<2> y = m.forward(x), target = x * x;
    return {(y - target).square().mean(), y, target};
  };
  std::vector<float> numbers;
  for (int i = 0; i < 40; ++i) numbers.push_back(static_cast<float>(i) / 20 - 1);
  DataLoader loader(in_memory(numbers), batched, {.batch_size = 8, .shuffle = true, .seed = 5});
  Adam optimizer = AdamConfig{}.init(model);
  Learner learner(train(std::move(model)), std::move(optimizer), step, {.steps = steps, .seed = 7});
  learner.rate(0.01).checkpoints(directory, {.every_steps = 2});
  EXPECT_EQ(learner.fit(loader).at.step, steps);
  return learner.model();
}

std::vector<std::vector<float>> numbers_in(const Curve& model) {
  std::vector<std::vector<float>> all;
  visit_tensors(model, [&](const std::string&, const Value& value) { all.push_back(numbers_of(value)); });
  return all;
}

TEST(RouterTraining, GoesOnFromACheckpointToTheBitsOfOneDevice) {
  const Device cpu = Device::cpu().autodiff(), device = two_processors().autodiff();
  const fs::path whole = fresh_directory("router_whole"), parts = fresh_directory("router_parts");
  const auto expected = numbers_in(trained(cpu, curve(cpu), whole, 12));
  const auto placed = [&] { return place(curve(device), device, {{"hidden", 0}, {"*", 1}}); };
  trained(device, placed(), parts, 5);
  const Curve ended = trained(device, placed(), parts, 12);
  EXPECT_EQ(numbers_in(ended), expected);
  EXPECT_EQ(part_of(ended.hidden.weight.value()), 0);
  EXPECT_EQ(part_of(ended.output.weight.value()), 1);
}

}  // namespace
}  // namespace kiln::test
