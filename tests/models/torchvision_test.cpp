#include <gtest/gtest.h>

#include "kiln/nn/module/uninitialized.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

#include "agreement.hpp"

namespace kiln::models {
namespace {

using test::autodiff;

TEST(Torchvision, ResNetsOfBothKindsOfBlocksAgree) {
  expect_agreement(ResNetConfig{.blocks = {1, 1, 1, 1}, .classes = 3}.init(autodiff), 64, "ResNetBasic");
  expect_agreement(ResNetConfig{.blocks = {1, 1, 1, 1}, .bottleneck = true, .classes = 3}.init(autodiff), 64,
                   "ResNetBottleneck");
}

TEST(Torchvision, MobileNetV2Agrees) {
  const MobileNetV2Config config{
      .stages = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 1, 1}}, .width = 0.25, .classes = 3, .dropout = 0};
  expect_agreement(config.init(autodiff), 32, "MobileNetV2");
}

VggConfig small_vgg() {
  return {.features = {.convolutions = {1, 2}, .width = 4}, .hidden = 16, .classes = 3, .dropout = 0};
}

TEST(Torchvision, VggAgrees) { expect_agreement(small_vgg().init(autodiff), 32, "Vgg"); }

TEST(Torchvision, ConvolutionsOfAVggAreLoadedAlone) {
  const TemporaryFile file("vgg.safetensors");
  write_tensors(state_dict(torch_state("Vgg")), file.path);
  Vgg whole = small_vgg().init(autodiff);
  VggFeatures part = small_vgg().features.init(autodiff);
  load_torchvision(whole, file.path);
  const LoadReport report = load_torchvision(part, file.path);
  EXPECT_EQ(report.loaded.size(), 6);
  EXPECT_EQ(part.stages[1][1].weight.to_vector(), whole.features.stages[1][1].weight.to_vector());
}

TEST(Torchvision, FilesOfAnotherModelAreRefusedAndChangeNothing) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(torch_state("MobileNetV2")), file.path);
  ResNet model = ResNetConfig{.blocks = {1}, .width = 8}.init(autodiff);
  const std::vector<float> before = model.head.weight.to_vector();
  const std::string said = sentence_of([&] { return load_torchvision(model, file.path); });
  EXPECT_TRUE(said.starts_with("LoadError: " + file.path + ": does not fit the module:\n")) << said;
  EXPECT_NE(said.find("\n  'stem.conv.weight' is missing\n"), std::string::npos) << said;
  EXPECT_NE(said.find("\n  'features.0.0.weight' is unexpected, the module has none\n"), std::string::npos) << said;
  EXPECT_EQ(model.head.weight.to_vector(), before);
}

TEST(Torchvision, CountsAsManyParameters) {
  const auto empty = [](const auto& config) { return uninitialized(config, Device::cpu()); };
  EXPECT_EQ(num_params(empty(resnet(18))), 11'689'512);
  EXPECT_EQ(num_params(empty(resnet(34))), 21'797'672);
  EXPECT_EQ(num_params(empty(resnet(50))), 25'557'032);
  EXPECT_EQ(num_params(empty(vgg(11))), 132'863'336);
  EXPECT_EQ(num_params(empty(vgg(13))), 133'047'848);
  EXPECT_EQ(num_params(empty(vgg(16))), 138'357'544);
  EXPECT_EQ(num_params(empty(vgg(19))), 143'667'240);
  const std::pair<double, std::int64_t> widths[] = {
      {0.35, 1'677'128}, {0.75, 2'636'424}, {1, 3'504'872}, {1.4, 6'108'776}};
  for (const auto& [width, count] : widths) EXPECT_EQ(num_params(empty(MobileNetV2Config{.width = width})), count);
}

}  // namespace
}  // namespace kiln::models
