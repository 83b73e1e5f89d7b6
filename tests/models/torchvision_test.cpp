// Files of torchvision's models: their names, what the models say, and a step of training, against stored figures of
// PyTorch's (torch_figures.py). exchange.py compares the models in full size where Python has torchvision.
#include <sstream>

#include <gtest/gtest.h>

#include "kiln/nn/module/undrawn.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/loss.hpp"
#include "models/torchvision.hpp"
#include "tests/store/temporary.hpp"
#include "tests/support/sentence.hpp"

#include "torch_figures.hpp"
#include "waves.hpp"

namespace kiln::models {
namespace {

const Device device = Device::cpu().autodiff();

/// Rows of a name and its sizes.
TensorSource state_dict(std::string_view rows) {
  TensorSource source;
  std::istringstream lines{std::string(rows)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Shape shape;
    for (std::int64_t size; words >> size;) shape.push_back(size);
    source.tensors.emplace(name, stored(parameter(name, shape)));
  }
  return source;
}

struct Figures {
  std::string_view state;
  std::span<const double> logits, loss, after_step;
};

template <class M>
void expect_agreement(M model, std::int64_t size, const Figures& figures) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(figures.state), file.path);
  EXPECT_TRUE(load_torchvision(model, file.path).complete());
  const Tensor<4> images = wave_tensor<4>("images", {4, 3, size, size});
  const Tensor<1, Int> targets = Tensor<1, Int>::of({0, 1, 2, 0}, device);
  model = valid(std::move(model));
  expect_figures(model.forward(images).template to_vector<double>(), figures.logits);
  model = train(std::move(model));
  const double loss = step(model, [&](const M& m) { return cross_entropy(m.forward(images), targets); });
  expect_figures({loss}, figures.loss);
  model = valid(std::move(model));
  expect_figures(model.forward(images).template to_vector<double>(), figures.after_step, 1e-3);
}

TEST(Torchvision, ResNetsOfBothKindsOfBlocksAgree) {
  expect_agreement(ResNetConfig{.blocks = {1, 1, 1, 1}, .classes = 3}.init(device), 64,
                   {kResNetBasicState, kResNetBasicLogits, kResNetBasicLoss, kResNetBasicLogitsAfterStep});
  expect_agreement(
      ResNetConfig{.blocks = {1, 1, 1, 1}, .bottleneck = true, .classes = 3}.init(device), 64,
      {kResNetBottleneckState, kResNetBottleneckLogits, kResNetBottleneckLoss, kResNetBottleneckLogitsAfterStep});
}

TEST(Torchvision, MobileNetV2Agrees) {
  const MobileNetV2Config config{
      .stages = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 1, 1}}, .width = 0.25, .classes = 3, .dropout = 0};
  expect_agreement(config.init(device), 32,
                   {kMobileNetV2State, kMobileNetV2Logits, kMobileNetV2Loss, kMobileNetV2LogitsAfterStep});
}

const VisionTransformerConfig kSmall{
    .image = 32, .patch = 8, .width = 32, .layers = 2, .heads = 4, .hidden = 64, .classes = 3};

TEST(Torchvision, VisionTransformerAgrees) {
  expect_agreement(
      kSmall.init(device), 32,
      {kVisionTransformerState, kVisionTransformerLogits, kVisionTransformerLoss, kVisionTransformerLogitsAfterStep});
}

TEST(Torchvision, VisionTransformerTakesTheNamesOfTimm) {
  const Rename timm[] = {{"^class_token$", "cls_token"},
                         {"^encoder\\.pos_embedding$", "pos_embed"},
                         {"^conv_proj", "patch_embed.proj"},
                         {"^encoder\\.layers\\.encoder_layer_", "blocks."},
                         {"^encoder\\.ln\\.", "norm."},
                         {"\\.ln_", ".norm"},
                         {"self_attention\\.in_proj_", "attn.qkv."},
                         {"self_attention\\.out_proj", "attn.proj"},
                         {"mlp\\.0", "mlp.fc1"},
                         {"mlp\\.3", "mlp.fc2"},
                         {"^heads\\.head", "head"}};
  const TemporaryFile file("theirs.pt");
  write_tensors(renamed(state_dict(kVisionTransformerState), timm), file.path);
  VisionTransformer model = kSmall.init(device);
  EXPECT_TRUE(load_torchvision(model, file.path).complete());
  expect_figures(model.forward(wave_tensor<4>("images", {4, 3, 32, 32})).to_vector<double>(), kVisionTransformerLogits);
}

TEST(Torchvision, AHeadForOtherClassesStays) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(kVisionTransformerState), file.path);
  auto config = kSmall;
  config.classes = 7;
  VisionTransformer model = config.init(device);
  EXPECT_EQ(sentence_of([&] { return load_torchvision(model, file.path); }),
            "LoadError: " + file.path +
                ": does not fit the module:\n"
                "  tensor 'head.weight' has shape [3, 32], the module expects [7, 32]\n"
                "  tensor 'head.bias' has shape [3], the module expects [7]");
  const LoadReport report = load_torchvision(model, file.path, {.allow_missing = true, .except = {"head.*"}});
  EXPECT_EQ(report.missing.size(), 2u);
  EXPECT_EQ(model.forward(wave_tensor<4>("images", {4, 3, 32, 32})).shape(), (Shape{4, 7}));
}

TEST(Torchvision, FilesOfAnotherModelAreRefusedAndChangeNothing) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(kMobileNetV2State), file.path);
  ResNet model = ResNetConfig{.blocks = {1}, .width = 8}.init(device);
  const std::vector<float> before = model.head.weight.to_vector();
  const std::string said = sentence_of([&] { return load_torchvision(model, file.path); });
  EXPECT_TRUE(said.starts_with("LoadError: " + file.path + ": does not fit the module:\n")) << said;
  EXPECT_NE(said.find("\n  'stem.conv.weight' is missing\n"), std::string::npos) << said;
  EXPECT_NE(said.find("\n  'features.0.0.weight' is unexpected, the module has none\n"), std::string::npos) << said;
  EXPECT_EQ(model.head.weight.to_vector(), before);
}

TEST(Models, HaveAsManyParametersAsThePapersNetworks) {
  const auto empty = [](const auto& config) { return undrawn(config, Device::cpu()); };
  EXPECT_EQ(num_params(empty(resnet(18))), 11'689'512);
  EXPECT_EQ(num_params(empty(resnet(34))), 21'797'672);
  EXPECT_EQ(num_params(empty(resnet(50))), 25'557'032);
  EXPECT_EQ(num_params(empty(MobileNetV2Config{})), 3'504'872);
  EXPECT_EQ(num_params(empty(VisionTransformerConfig{})), 86'567'656);
}

}  // namespace
}  // namespace kiln::models
