// What wrong sizes are told.
#include <gtest/gtest.h>

#include "kiln/tensor/create.hpp"
#include "models/diffusion.hpp"
#include "models/mobilenet_v2.hpp"
#include "models/perceptual.hpp"
#include "models/resnet.hpp"
#include "models/unet.hpp"
#include "models/vae.hpp"
#include "models/vision_transformer.hpp"
#include "models/wgan.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::models {
namespace {

using test::cpu;

TEST(Models, SayWhichImagesTheyTake) {
  const auto images = [](std::int64_t channels, std::int64_t size) { return zeros({1, channels, size, size}, cpu); };
  const ResNet resnet = ResNetConfig{.blocks = {1}, .width = 8}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return resnet.forward(images(1, 32)); }),
            "ShapeError: ResNet: images must be [batch, 3, height, width], got float32 [1, 1, 32, 32]");
  EXPECT_EQ(sentence_of([&] { return resnet.forward(images(3, 0)); }),
            "ShapeError: ResNet: images must be [batch, 3, height, width], got float32 [1, 3, 0, 0]");
  const MobileNetV2 mobile = MobileNetV2Config{.stages = {{1, 8, 1, 1}}, .width = 0.1}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return mobile.forward(images(4, 32)); }),
            "ShapeError: MobileNetV2: images must be [batch, 3, height, width], got float32 [1, 4, 32, 32]");
  const VggFeatures vgg = VggFeaturesConfig{.convolutions = {1, 1}, .width = 2}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return vgg.forward(images(1, 8)); }),
            "ShapeError: Vgg: images must be [batch, 3, height, width], got float32 [1, 1, 8, 8]");
  EXPECT_EQ(sentence_of([&] { return vgg.forward(images(3, 3)); }),
            "ShapeError: Vgg: the images are too small, as float32 [1, 4, 1, 1] is to be halved once more");
  const VisionTransformer vit = VisionTransformerConfig{.image = 32, .width = 8, .layers = 1, .heads = 1}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return vit.forward(images(3, 40)); }),
            "ShapeError: VisionTransformer: images must be 32 x 32, got float32 [1, 3, 40, 40]");
  const UNet unet = UNetConfig{.width = 4, .depth = 2}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return unet.forward(images(1, 30)); }),
            "ShapeError: UNet: height and width of float32 [1, 1, 30, 30] must be multiples of 4, as they are halved 2 "
            "times");
  const Critic critic = CriticConfig{.width = 2}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return critic.forward(images(1, 32)); }),
            "ShapeError: Critic: images must be 28 x 28, got float32 [1, 1, 32, 32]");
  const Vae vae = VaeConfig{.hidden = 4}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return vae.encode(zeros({2, 28, 27}, cpu)); }),
            "ShapeError: Vae: images must be [batch, 28, 28], got float32 [2, 28, 27]");
  const Denoiser denoiser = DenoiserConfig{.widths = {8, 8}}.init(cpu);
  const Tensor<1, Int> zero = zeros<Int>({1}, cpu);
  EXPECT_EQ(
      sentence_of([&] { return denoiser.forward(images(1, 7), zero, zero); }),
      "ShapeError: Denoiser: height and width of float32 [1, 1, 7, 7] must be multiples of 2, as they are halved 1 "
      "times");
  EXPECT_EQ(sentence_of([&] { return denoiser.forward(images(1, 8), zero, full<Int>({1}, 11, cpu)); }),
            "IndexError: embedding: index 11 is out of range for dimension 0 of size 11");
  EXPECT_EQ(sentence_of([&] { return denoiser.forward(images(1, 8), full<Int>({1}, 1000, cpu), zero); }),
            "IndexError: select: index 1000 is out of range for dimension 0 of size 1000");
  EXPECT_EQ(sentence_of([&] { return denoised(denoiser, images(1, 8), zero, {.steps = 1001}); }),
            "ArgumentError: denoised: 1001 steps of a schedule that has 1000");
}

TEST(Models, SayWhatConfigsMeanNothing) {
  EXPECT_EQ(sentence_of([] { return resnet(20); }),
            "ArgumentError: resnet: there is no ResNet-20 here; there are ResNet-18, -34 and -50");
  EXPECT_EQ(sentence_of([] { return ResNetConfig{.classes = 0}.init(cpu); }),
            "ArgumentError: ResNetConfig: classes = 0 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return ResNetConfig{.blocks = {2, -1}}.init(cpu); }),
            "ArgumentError: ResNetConfig: blocks of a stage = -1 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return vgg(20); }),
            "ArgumentError: vgg: there is no VGG-20; there are VGG-11, -13, -16 and -19");
  EXPECT_EQ(sentence_of([] { return VggConfig{.features = {.convolutions = {}}}.init(cpu); }),
            "ArgumentError: VggFeaturesConfig: 0 stages of convolutions; there must be 1 to 16");
  EXPECT_EQ(sentence_of([] { return VggConfig{.features = {.convolutions = {1, 0}}}.init(cpu); }),
            "ArgumentError: VggFeaturesConfig: convolutions of a stage = 0 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return VggConfig{.hidden = 0}.init(cpu); }),
            "ArgumentError: VggConfig: hidden = 0 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return MobileNetV2Config{.width = 0}.init(cpu); }),
            "ArgumentError: MobileNetV2Config: width = 0 must lie between 0 and 64");
  EXPECT_EQ(sentence_of([] { return VisionTransformerConfig{.image = 30}.init(cpu); }),
            "ArgumentError: VisionTransformerConfig: an image of 30 x 30 cannot be divided into patches of 16 x 16");
  EXPECT_EQ(sentence_of([] { return VisionTransformerConfig{.heads = 7}.init(cpu); }),
            "ArgumentError: MultiHeadAttentionConfig: 7 heads do not divide a width of 768");
  EXPECT_EQ(sentence_of([] { return VisionTransformerConfig{.image = std::int64_t{1} << 40}.init(cpu); }),
            "ArgumentError: VisionTransformerConfig: image = 1099511627776 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return ResNetConfig{.blocks = std::vector<std::int64_t>(64, 1)}.init(cpu); }),
            "ArgumentError: ResNetConfig: 64 stages of blocks; there must be 1 to 16");
  EXPECT_EQ(sentence_of([] { return UNetConfig{.depth = 11}.init(cpu); }),
            "ArgumentError: UNetConfig: depth = 11 must lie between 1 and 10");
  EXPECT_EQ(sentence_of([] { return GeneratorConfig{.side = 30}.init(cpu); }),
            "ArgumentError: GeneratorConfig: side = 30 must be a multiple of 4");
  EXPECT_EQ(sentence_of([] { return CriticConfig{.width = 0}.init(cpu); }),
            "ArgumentError: CriticConfig: width = 0 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return VaeConfig{.latent = 0}.init(cpu); }),
            "ArgumentError: VaeConfig: latent = 0 must lie between 1 and 1000000");
  EXPECT_EQ(sentence_of([] { return DenoiserConfig{.widths = {8, 12}}.init(cpu); }),
            "ArgumentError: DenoiserConfig: width = 12 must be a multiple of 8");
  EXPECT_EQ(sentence_of([] { return cosine_schedule(0); }),
            "ArgumentError: cosine_schedule: steps = 0 must lie between 1 and 1000000");
}

}  // namespace
}  // namespace kiln::models
