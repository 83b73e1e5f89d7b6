// Layers that PyTorch names or lays out in another way, out of one of its state dicts.
#include <gtest/gtest.h>

#include "kiln/nn.hpp"
#include "kiln/store/load/pytorch_layers.hpp"
#include "kiln/store/save.hpp"
#include "tests/support/sentence.hpp"

#include "agreement.hpp"

namespace kiln::models {
namespace {

struct Layers {
  nn::Lstm lstm;
  nn::MultiHeadAttention attention;
  nn::TransformerEncoder encoder;
  nn::TransformerDecoder decoder;
  nn::BatchNorm norm;
  nn::GruCell cell;

  Tensor<2> forward(const Tensor<3>& x) const {
    const Tensor<3> asked = encoder.forward(attention.forward(lstm.forward(x).outputs, x));
    const Tensor<3> context = x.repeat_interleave(2, 2).narrow(2, 0, 4);
    const Tensor<3> y = decoder.forward(asked, context, {.self = {.causal = false}});
    return cell.forward(norm.forward(y.transpose(1, 2)).narrow(2, 2, 1).squeeze(2));
  }
};

Layers make_layers() {
  const Device device = Device::cpu();
  nn::TransformerEncoderLayerConfig encoder{.width = 4, .heads = 2, .hidden = 8, .norm_first = true};
  nn::TransformerDecoderLayerConfig decoder{.width = 4, .heads = 2, .hidden = 8};
  encoder.activation = decoder.activation = nn::Relu{};
  return {
      .lstm = nn::LstmConfig{.in = 3, .hidden = 4, .layers = 2, .bidirectional = true, .projection = 2}.init(device),
      .attention = nn::MultiHeadAttentionConfig{.width = 4, .heads = 2, .context_width = 3}.init(device),
      .encoder = nn::TransformerEncoderConfig{.layer = encoder, .layers = 2}.init(device),
      .decoder = nn::TransformerDecoderConfig{.layer = decoder, .layers = 1}.init(device),
      .norm = nn::BatchNormConfig{.channels = 4}.init(device),
      .cell = nn::GruCellConfig{.in = 4, .hidden = 3}.init(device)};
}

TEST(PytorchLayers, AgreeWithPyTorch) {
  const TemporaryFile file("theirs.pt");
  write_tensors(state_dict(torch_state("Layers")), file.path);
  Layers model = make_layers();
  EXPECT_TRUE(load(model, file.path, {.pytorch_layers = true}).complete());
  const Tensor<3> x = wave_tensor<3>("x", {2, 5, 3});
  expect_figures(valid(std::move(model)).forward(x).to_vector<double>(), torch_numbers("Layers"));
}

std::vector<std::string> names_of(const TensorSource& source) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : source.tensors) names.push_back(name);
  return names;
}
TensorSource source_of(std::initializer_list<const char*> names) {
  TensorSource source;
  for (const char* name : names) source.tensors.emplace(name, stored(TensorData({3, 1}, DType::F32)));
  return source;
}
using Names = std::vector<std::string>;

TEST(PytorchLayers, AModelMayBeOne) {
  EXPECT_EQ(names_of(with_pytorch_layers(source_of({"weight_ih_l10", "bias_hh_l0_reverse"}), "f")),
            (Names{"layers.10.weight_ih", "reversed.0.bias_hh"}));
  EXPECT_EQ(
      names_of(with_pytorch_layers(source_of({"in_proj_bias", "in_proj_weight", "out_proj.bias"}), "f")),
      (Names{"key.bias", "key.weight", "output.bias", "query.bias", "query.weight", "value.bias", "value.weight"}));
  EXPECT_EQ(
      names_of(with_pytorch_layers(source_of({"self_attn.in_proj_weight", "linear1.weight", "norm2.weight"}), "f")),
      (Names{"attention.key.weight", "attention.query.weight", "attention.value.weight", "feed_forward.inner.weight",
             "feed_forward_norm.weight"}));
}

TEST(PytorchLayers, NamesThatOnlyLookAlikeStay) {
  const TensorSource source = source_of({"block.linear1.weight", "block.norm1.weight", "block.out_proj.weight",
                                         "block.self_attn.out_proj.weight", "layers.0.weight", "my_weight_ih_l0",
                                         "q_proj.weight", "total_num_batches_tracked"});
  EXPECT_EQ(names_of(with_pytorch_layers(source, "f")), names_of(source));
  EXPECT_FALSE(has_pytorch_layers(source));
}

TEST(PytorchLayers, SaysWhatDoesNotFit) {
  const TemporaryFile file("theirs.pt");
  write_tensors(state_dict(torch_state("Layers")), file.path);
  Layers model = make_layers();
  const std::string said = sentence_of([&] { return load(model, file.path); });
  EXPECT_NE(said.find("\n  'lstm.layers.0.weight_ih' is missing"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("\n  LoadOptions::pytorch_layers reads layers by the names of PyTorch's, as here"))
      << said;

  TensorSource source;
  source.tensors.emplace("a.in_proj_weight", stored(TensorData({4, 2}, DType::F32)));
  EXPECT_EQ(sentence_of([&] { return with_pytorch_layers(source, "f.pt"); }),
            "DataError: f.pt: tensor 'a.in_proj_weight' of shape [4, 2] is not 3 equal parts along dimension 0");
}

}  // namespace
}  // namespace kiln::models
