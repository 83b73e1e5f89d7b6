#include <gtest/gtest.h>

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

#include "agreement.hpp"

namespace kiln::models {
namespace {

using test::autodiff;

const VisionTransformerConfig kSmallTransformer{
    .image = 32, .patch = 8, .width = 32, .layers = 2, .heads = 4, .hidden = 64, .classes = 3};

TEST(Torchvision, VisionTransformerAgrees) {
  expect_agreement(kSmallTransformer.init(autodiff), 32, "VisionTransformer");
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
  write_tensors(renamed(state_dict(torch_state("VisionTransformer")), timm), file.path);
  VisionTransformer model = kSmallTransformer.init(autodiff);
  EXPECT_TRUE(load_torchvision(model, file.path).complete());
  expect_figures(model.forward(wave_tensor<4>("images", {4, 3, 32, 32})).to_vector<double>(),
                 torch_numbers("VisionTransformerLogits"));
}

TEST(Torchvision, AHeadForOtherClassesStays) {
  const TemporaryFile file("theirs.safetensors");
  write_tensors(state_dict(torch_state("VisionTransformer")), file.path);
  auto config = kSmallTransformer;
  config.classes = 7;
  VisionTransformer model = config.init(autodiff);
  EXPECT_EQ(
      sentence_of([&] { return load_torchvision(model, file.path); }),
      "LoadError: " + file.path +
          ": does not fit the module:\n"
          "  tensor 'head.weight' has shape [3, 32], the module expects [7, 32]\n"
          "  tensor 'head.bias' has shape [3], the module expects [7]\n"
          "  make the module by the config that it was saved with, or LoadOptions::allow_mismatched leaves these as "
          "they are");
  const LoadReport report = load_torchvision(model, file.path, {.except = {"head.*"}});
  EXPECT_TRUE(report.missing.empty());
  EXPECT_EQ(model.forward(wave_tensor<4>("images", {4, 3, 32, 32})).shape(), (Shape{4, 7}));
}

}  // namespace
}  // namespace kiln::models
