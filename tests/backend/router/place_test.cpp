// Models whose layers are on several parts train as on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/nn.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/optim.hpp"
#include "kiln/optim/gradients.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/random.hpp"
#include "tests/backend/router/parts.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

using testing::ElementsAre;

struct Network {
  nn::Linear first;
  nn::BatchNorm norm;
  nn::Dropout dropout{.probability = 0.25};
  nn::Linear second;

  /// x [batch, 6] -> [batch, 3]
  Tensor<2> forward(const Tensor<2>& x) const {
    return second.forward(dropout.forward(norm.forward(first.forward(x)).relu()));
  }
};

Network network(const Device& device) {
  device.seed(3);
  return train(Network{.first = nn::LinearConfig{.in = 6, .out = 8}.init(device),
                       .norm = nn::BatchNormConfig{.channels = 8}.init(device),
                       .second = nn::LinearConfig{.in = 8, .out = 3}.init(device)});
}

std::vector<std::vector<float>> numbers_in(const Network& model) {
  std::vector<std::vector<float>> all;
  visit_tensors(model, [&](const std::string&, const Value& value) { all.push_back(numbers_of(value)); });
  return all;
}

std::vector<int> parts_in(const Network& model) {
  std::vector<int> parts;
  visit_tensors(model, [&](const std::string&, const Value& value) { parts.push_back(part_of(value)); });
  return parts;
}

const std::vector<Placement> kHalves = {{"second", 1}, {"*", 0}};

/// Five steps on batches that are the same on every device.
Network trained(Network model, const Device& device) {
  Adam optimizer = AdamConfig{}.init(model);
  device.seed(5);
  for (int step = 0; step < 5; ++step) {
    const Tensor<2> x = randn({16, 6}, device.inner());
    const Tensor<2> target = randn({16, 3}, device.inner());
    const auto [loss, grads] =
        value_and_grad(model, [&](const Network& m) { return (m.forward(x) - target).square().mean(); });
    model = optimizer.step(0.01, std::move(model), grads);
  }
  return model;
}

TEST(Place, PutsLayersOnParts) {
  const Device device = two_processors().autodiff();
  const Network model = place(network(device), device, kHalves);
  EXPECT_THAT(parts_in(model), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
  const std::int64_t before = router_moves(device).count;
  const Tensor<2> y = model.forward(Tensor<2>::from_data(TensorData({4, 6}, DType::F32), device));
  EXPECT_EQ(part_of(y.value()), 1);
  EXPECT_EQ(router_moves(device).count, before + 1);
}

TEST(Place, TrainsToTheBitsOfOneDevice) {
  const Device cpu = Device::cpu().autodiff(), device = two_processors().autodiff();
  const auto expected = numbers_in(trained(network(cpu), cpu));
  const Network placed = trained(place(network(device), device, kHalves), device);
  EXPECT_EQ(numbers_in(placed), expected);
  EXPECT_THAT(parts_in(placed), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));

  const Device turns = device_named("alternating:cpu+plain cpu").autodiff();
  EXPECT_EQ(numbers_in(trained(network(turns), turns)), expected);
  EXPECT_GT(router_moves(turns).count, 400);
}

TEST(Place, MovesOncePerBoundaryInEachDirection) {
  const Device device = two_processors().autodiff();
  Network model = trained(place(network(device), device, kHalves), device);
  Adam optimizer = AdamConfig{}.init(model);
  const Tensor<2> x = Tensor<2>::from_data(TensorData({16, 6}, DType::F32), device.inner());
  for (int step = 0; step < 3; ++step) {
    const std::int64_t before = router_moves(device).count;
    const auto [loss, grads] = value_and_grad(model, [&](const Network& m) { return m.forward(x).square().mean(); });
    model = optimizer.step(0.01, std::move(model), grads);
    device.sync();
    EXPECT_EQ(router_moves(device).count, before + 2) << step;
  }
}

TEST(Place, HoldsWhenNumbersAreLoaded) {
  const Device device = two_processors();
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "kiln_place_test.safetensors";
  const Network saved = network(Device::cpu());
  save(saved, file.string());
  Network model = place(network(device), device, kHalves);
  load(model, file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(numbers_in(model), numbers_in(saved));
  EXPECT_THAT(parts_in(model), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
  // A wide batch and a small weight: the layer stays where it is.
  const Tensor<2> x = Tensor<2>::from_data(TensorData({1000, 6}, DType::F32), device);
  EXPECT_EQ(part_of(valid(model).forward(x).value()), 1);
}

TEST(Place, HoldsForAModelThatWasTrained) {
  const Device device = two_processors().autodiff();
  const Network model = to_device(valid(trained(place(network(device), device, kHalves), device)), device.inner());
  const Tensor<2> x = Tensor<2>::from_data(TensorData({1000, 6}, DType::F32), device);
  EXPECT_EQ(part_of(model.forward(x).value()), 1);
}

TEST(Place, HoldsUnderAutocast) {
  const Device device = two_processors().autodiff();
  const Network model = place(network(device), device, kHalves);
  const Autocast half(DType::BF16);
  const Tensor<2> x = Tensor<2>::from_data(TensorData({1000, 6}, DType::F32), device);
  EXPECT_EQ(part_of(model.forward(x).value()), 1);
}

TEST(Place, HasTheGradientsOfTheWholeBatchInMicroBatches) {
  const Device device = two_processors().autodiff(), cpu = Device::cpu().autodiff();
  const auto loss = [](const Network& m, const Tensor<2>& x) {
    return m.second.forward(m.first.forward(x)).exp().mean();
  };
  const auto whole = value_and_grad(network(cpu), [&](const Network& m) {
                       cpu.seed(9);
                       return loss(m, randn({16, 6}, cpu.inner()));
                     }).grads;
  const Network model = place(network(device), device, kHalves);
  device.seed(9);
  const Tensor<2> x = randn({16, 6}, device.inner());
  GradientsAccumulator gradients;
  for (std::int64_t begin = 0; begin < 16; begin += 4)
    gradients.add(value_and_grad(model, [&](const Network& m) { return loss(m, x(s(begin, begin + 4))); }).grads);
  for (const auto& [path, grad] : gradients.mean().by_path)
    EXPECT_EQ(difference(grad.data(), whole.find(path)->data(), Tolerance{1e-5, 1e-6}), "") << path;
}

TEST(Place, IsToldWhatItCannotPlace) {
  const Device device = two_processors().autodiff();
  const auto placed = [&](const Device& on, const std::vector<Placement>& placements) {
    return sentence_of([&] { return place(network(device), on, placements).first.weight.numel(); });
  };
  EXPECT_EQ(placed(device, {{"second", 1}}),
            "ArgumentError: place: 'first.weight' is selected by no placement; end the list with {\"*\", 0}");
  EXPECT_EQ(placed(device, {{"secnd", 1}, {"*", 0}}),
            "ArgumentError: place: 'secnd' selects none of the model's parameters (did you mean 'second'?)");
  EXPECT_EQ(placed(device, {{"*", 2}}),
            text("ArgumentError: router_part: ", device, " has no part 2; its parts are 0 to 1"));
  EXPECT_EQ(placed(Device::cpu(), {{"*", 0}}),
            "DeviceError: router_part: cpu is no router; Device::router() makes one");
}

}  // namespace
}  // namespace kiln::test
