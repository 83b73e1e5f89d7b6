// AlexNet, SqueezeNet, Inception v3 and the distances of images that they define, against PyTorch's arithmetic
// (perceptual_figures.py).
#include "models/perceptual_metrics.hpp"

#include <gtest/gtest.h>

#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

#include "agreement.hpp"

namespace kiln::models {
namespace {

using test::autodiff;
using test::cpu;

AlexNetConfig small_alexnet() {
  return {.features = {.widths = {4, 6, 8, 8, 6}}, .hidden = 16, .classes = 3, .dropout = 0};
}

SqueezeNetConfig small_squeezenet() {
  return {
      .features = {.stem = 8,
                   .fires = {{2, 8, true}, {2, 8}, {4, 16, true}, {4, 16}, {6, 24, true}, {6, 24}, {8, 32}, {8, 32}}},
      .classes = 3,
      .dropout = 0};
}

VggFeaturesConfig small_vgg16() { return {.convolutions = {2, 2, 3, 3, 3}, .width = 2}; }

/// The published linear layers: waves that are shifted above zero.
TensorSource shifted_waves(const std::string& model) {
  TensorSource source;
  for (const auto& [name, shape] : torch_state(model)) source.tensors.emplace(name, stored(wave(name, shape, 1, 1.5)));
  return source;
}

template <class Network>
void load_network(Network& network, const std::string& name) {
  const TemporaryFile file("network.safetensors");
  write_tensors(state_dict(torch_state(name)), file.path);
  EXPECT_TRUE(load_torchvision(network, file.path).complete());
}

TEST(Torchvision, AlexNetAgrees) { expect_agreement(small_alexnet().init(autodiff), 64, "AlexNet"); }
TEST(Torchvision, SqueezeNetAgrees) { expect_agreement(small_squeezenet().init(autodiff), 32, "SqueezeNet"); }
TEST(Torchvision, InceptionV3Agrees) {
  expect_agreement(InceptionV3Config{.classes = 3, .width = 1.0 / 16, .dropout = 0}.init(autodiff), 107, "InceptionV3");
}

TEST(Torchvision, NetworksOfPerceptualMetricsCountAsManyParameters) {
  const auto empty = [](const auto& config) { return uninitialized(config, cpu); };
  EXPECT_EQ(num_params(empty(AlexNetConfig{})), 61'100'840);
  EXPECT_EQ(num_params(empty(SqueezeNetConfig{})), 1'235'496);
  EXPECT_EQ(num_params(empty(InceptionV3Config{})), 23'834'568);  // without the auxiliary classifier
}

TEST(Torchvision, AnAuxiliaryClassifierIsLeftOut) {
  const TemporaryFile file("inception.safetensors");
  TensorSource source = state_dict(torch_state("InceptionV3"));
  source.tensors.emplace("AuxLogits.fc.weight", stored(TensorData(Shape{3, 48}, DType::F32)));
  write_tensors(source, file.path);
  InceptionV3 model = InceptionV3Config{.classes = 3, .width = 1.0 / 16}.init(cpu);
  EXPECT_TRUE(load_torchvision(model, file.path).complete());
}

template <class Network>
void expect_lpips(LpipsNet<Network> net, const std::string& name, std::int64_t size) {
  load_network(net.network, name);
  const TemporaryFile file("linear.safetensors");
  write_tensors(shifted_waves("Lpips" + name), file.path);
  EXPECT_TRUE(load_lpips(net.weights, file.path).complete());
  const auto made = wave_tensor<4>("made", {2, 3, size, size}).require_grad(),
             right = wave_tensor<4>("right", {2, 3, size, size});
  const std::span<const double> each = torch_numbers("Lpips" + name);
  const Tensor<1> found = net.forward_each(made, right);
  expect_figures(found.template to_vector<double>(), each);
  const Gradients grads = found.sum().backward();
  expect_figures(grads.of(made).narrow(2, 3, 1).narrow(3, 5, 1).template to_vector<double>(),
                 torch_numbers("Lpips" + name + "Slopes"));
  metric::Lpips metric;
  net.add(metric, made, right);
  EXPECT_NEAR(metric.value(), (each[0] + each[1]) / 2, 1e-4);
}

TEST(PerceptualMetrics, LpipsIsPyTorchs) {
  expect_lpips(lpips_alexnet(autodiff, small_alexnet().features), "AlexNet", 64);
  expect_lpips(lpips_squeezenet(autodiff, small_squeezenet().features), "SqueezeNet", 32);
  expect_lpips(lpips_vgg(autodiff, small_vgg16()), "Vgg16", 32);
}

TEST(PerceptualMetrics, DistsIsPyTorchs) {
  DistsNet net = dists_vgg(autodiff, small_vgg16());
  load_network(net.network, "Vgg16");
  const TemporaryFile file("weights.safetensors");
  write_tensors(shifted_waves("DistsVgg16"), file.path);
  EXPECT_TRUE(load_dists(net, file.path).complete());
  const auto made = wave_tensor<4>("made", {2, 3, 32, 32}, 0.4, 0.5).require_grad(),
             right = wave_tensor<4>("right", {2, 3, 32, 32}, 0.4, 0.5);
  const std::span<const double> each = torch_numbers("DistsVgg16");
  const Tensor<1> found = net.forward_each(made, right);
  expect_figures(found.to_vector<double>(), each);
  const Gradients grads = found.sum().backward();
  expect_figures(grads.of(made).narrow(2, 3, 1).narrow(3, 5, 1).to_vector<double>(), torch_numbers("DistsVgg16Slopes"));
  metric::Dists metric;
  net.add(metric, made, right);
  EXPECT_NEAR(metric.value(), (each[0] + each[1]) / 2, 1e-4);
}

TEST(PerceptualMetrics, FeaturesOfFidArePyTorchs) {
  InceptionV3 net = InceptionV3Config{.classes = 5, .width = 1.0 / 16, .fid = true}.init(cpu);
  load_network(net, "InceptionFid");
  const auto images = wave_tensor<4>("images", {1, 3, 40, 32}, 0.4, 0.5).to_device(cpu);
  EXPECT_EQ(sentence_of([&] { return fid_features(net, images); }),
            "ArgumentError: fid_features: the network is in training mode, in which figures depend on the batch; call "
            "valid(network)");
  net = valid(std::move(net));
  expect_figures(fid_features(net, images).to_vector<double>(), torch_numbers("InceptionFid"));
  metric::FrechetDistance same;
  for (int i = 0; i < 2; ++i) add(same, net, images, images);
  EXPECT_NEAR(same.value(), 0, 1e-6);
}

TEST(PerceptualMetrics, WeightsOfAnotherNetworkAreRefusedAndChangeNothing) {
  LpipsNet<AlexNetFeatures> net = lpips_alexnet(cpu, small_alexnet().features);
  const TemporaryFile file("linear.safetensors");
  write_tensors(shifted_waves("LpipsVgg16"), file.path);
  const std::string said = sentence_of([&] { return load_lpips(net.weights, file.path); });
  EXPECT_TRUE(said.starts_with("LoadError: " + file.path)) << said;
  EXPECT_NE(said.find("has shape [1, 2, 1, 1]"), std::string::npos) << said;
  EXPECT_EQ(net.weights[0].to_vector(), std::vector<float>(4, 1.0F));
  DistsNet dists = dists_vgg(cpu, small_vgg16());
  const std::string missing = sentence_of([&] { return load_dists(dists, file.path); });
  EXPECT_NE(missing.find("'alpha' is missing"), std::string::npos) << missing;
}

TEST(PerceptualMetrics, SayWhatIsWrong) {
  const auto images = [](std::int64_t channels, std::int64_t size) { return zeros({1, channels, size, size}, cpu); };
  const AlexNet alexnet = small_alexnet().init(cpu);
  EXPECT_EQ(sentence_of([&] { return alexnet.forward(images(3, 62)); }),
            "ShapeError: AlexNet: images must have 63 pixels or more in height and width, got float32 [1, 3, 62, 62]");
  EXPECT_EQ(alexnet.forward(images(3, 63)).dim(1), 3);
  EXPECT_EQ(sentence_of([&] { return alexnet.forward(images(1, 64)); }),
            "ShapeError: AlexNet: images must be [batch, 3, height, width], got float32 [1, 1, 64, 64]");
  const SqueezeNet squeezenet = small_squeezenet().init(cpu);
  EXPECT_EQ(sentence_of([&] { return squeezenet.forward(images(3, 24)); }),
            "ShapeError: SqueezeNet: images must have 25 pixels or more in height and width, got float32 [1, 3, 24, "
            "24]");
  EXPECT_EQ(squeezenet.forward(images(3, 25)).dim(1), 3);
  const InceptionV3 inception = valid(InceptionV3Config{.classes = 3, .width = 1.0 / 16}.init(cpu));
  EXPECT_EQ(sentence_of([&] { return inception.forward(images(3, 74)); }),
            "ShapeError: InceptionV3: images must have 75 pixels or more in height and width, got float32 [1, 3, 74, "
            "74]");
  EXPECT_EQ(inception.forward(images(3, 75)).dim(1), 3);
  EXPECT_EQ(sentence_of([&] { return InceptionV3Config{.width = 0.3}.init(cpu); }),
            "ArgumentError: InceptionV3Config: width = 0.3 must be a multiple of 1/16 between 1/16 and 16");
  EXPECT_EQ(sentence_of([&] { return lpips_vgg(cpu, {.convolutions = {1, 1}, .width = 2}); }),
            "ArgumentError: lpips_vgg: the network has 2 stages; VGG-16 has 5");
  EXPECT_EQ(sentence_of([&] { return lpips_squeezenet(cpu, {.fires = {{2, 2}}}); }),
            "ArgumentError: lpips_squeezenet: 1 fires; SqueezeNet 1.1 has 8");
}

}  // namespace
}  // namespace kiln::models
