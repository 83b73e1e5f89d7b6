#include "models/language/gpt2.hpp"

#include <algorithm>

#include "kiln/nn/module/undrawn.hpp"
#include "kiln/store/save.hpp"
#include "models/published.hpp"

namespace kiln::models {
namespace {

/// GPT-2's keys in config.json.
struct Published {
  std::int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_head = 12, n_layer = 12;
  double layer_norm_epsilon = 1e-5;
  std::string activation_function = "gelu_new";
};

const LoadOptions& layout() {
  static const LoadOptions kLayout{
      .split = {{R"(\.attn\.c_attn\.)", {".attention.query.", ".attention.key.", ".attention.value."}, -1}},
      .rename = {{"^transformer\\.", ""},
                 {"^wte\\.", "tokens."},
                 {"^wpe\\.", "positions."},
                 {"^h\\.(\\d+)\\.", "decoder.blocks.$1."},
                 {"^ln_f\\.", "decoder.norm."},
                 {"\\.ln_1\\.", ".attention_norm."},
                 {"\\.ln_2\\.", ".feed_forward_norm."},
                 {"\\.attn\\.c_proj\\.", ".attention.output."},
                 {"\\.mlp\\.c_fc\\.", ".feed_forward.inner."},
                 {"\\.mlp\\.c_proj\\.", ".feed_forward.outer."}},
      .except = "{decoder.blocks.*.attn.{bias,masked_bias},lm_head.weight}",
      .layouts = {transposed_linear("decoder.blocks.*.*.*.weight")}};
  return kLayout;
}

/// Files of whole states hold the table of tokens twice, the second time as the head.
void require_tied(const std::string& file) {
  const TensorSource source = open_tensors(file);
  const auto head = source.tensors.find("lm_head.weight"), table = source.tensors.find("transformer.wte.weight");
  if (head == source.tensors.end() || table == source.tensors.end()) return;
  const TensorData a = head->second.read(), b = table->second.read();
  require<LoadError>(a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.bytes(), b.bytes()), file,
                     ": 'lm_head.weight' is not 'transformer.wte.weight', as it is in GPT-2");
}

}  // namespace

CausalLm Gpt2Config::init(const Device& device) const {
  require<ArgumentError>(vocabulary > 0 && context > 0 && width > 0 && layers > 0,
                         "Gpt2Config: vocabulary, context, width and layers must be positive");
  const nn::Initializer small = nn::init::Normal{.deviation = 0.02};
  CausalLm model;
  model.tokens = nn::EmbeddingConfig{.count = vocabulary, .size = width, .initializer = small}.init(device);
  model.positions = nn::LearnedPositionsConfig{.length = context, .width = width, .initializer = small}.init(device);
  model.dropout.probability = dropout;
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads};
  block.dropout = dropout;
  block.norm_first = true;
  block.norm = nn::LayerNormConfig{.epsilon = epsilon};
  block.activation = nn::Gelu{.approximate = true};
  block.initializer = small;
  model.decoder = nn::TransformerEncoderConfig{.layer = block, .layers = layers}.init(device);
  model.head.weight = model.tokens.weight;
  model.context = context;
  return model;
}

Gpt2Config gpt2_config(const std::string& file) {
  const auto said = load_published<Published>(file, "gpt2");
  require<ConfigError>(said.activation_function == "gelu_new", file,
                       ": 'activation_function' must be \"gelu_new\", got \"", shown(said.activation_function), '"');
  return {.vocabulary = said.vocab_size,
          .context = said.n_positions,
          .width = said.n_embd,
          .heads = said.n_head,
          .layers = said.n_layer,
          .epsilon = said.layer_norm_epsilon};
}

LoadReport load_gpt2(CausalLm& model, const std::string& file) {
  require_tied(file);
  return load(model, file, layout());
}

CausalLm load_gpt2(const std::string& folder, const Device& device) {
  CausalLm model = undrawn(gpt2_config(folder + "/config.json"), device);
  load_gpt2(model, folder);
  return model;
}

}  // namespace kiln::models
