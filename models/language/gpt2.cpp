#include "models/language/gpt2.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/store/save.hpp"
#include "models/published.hpp"

namespace kiln::models {
namespace {

/// GPT-2's keys in config.json.
struct HfFields {
  std::int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_head = 12, n_layer = 12;
  std::optional<std::int64_t> n_inner;
  double layer_norm_epsilon = 1e-5;
  std::string activation_function = "gelu_new";
  bool scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false, tie_word_embeddings = true;
};

/// These keys change nothing here: dropout rates, heads of other tasks, and the precision and order of a product.
constexpr std::string_view kHarmless[] = {"attn_pdrop",
                                          "embd_pdrop",
                                          "is_decoder",
                                          "n_ctx",
                                          "reorder_and_upcast_attn",
                                          "resid_pdrop",
                                          "summary_activation",
                                          "summary_first_dropout",
                                          "summary_proj_to_labels",
                                          "summary_type",
                                          "summary_use_proj"};

/// `tied` says whether the head is the embedding of tokens. Files of whole state dicts contain that twice.
LoadOptions layout(bool tied) {
  return {.split = {{R"(\.attn\.c_attn\.)", {".attention.query.", ".attention.key.", ".attention.value."}, -1}},
          .rename = {{"^transformer\\.", ""},
                     {"^lm_head\\.", tied ? "lm_head." : "head."},
                     {"^wte\\.", "tokens."},
                     {"^wpe\\.", "positions."},
                     {"^h\\.(\\d+)\\.", "decoder.blocks.$1."},
                     {"^ln_f\\.", "decoder.norm."},
                     {"\\.ln_1\\.", ".attention_norm."},
                     {"\\.ln_2\\.", ".feed_forward_norm."},
                     {"\\.attn\\.c_proj\\.", ".attention.output."},
                     {"\\.mlp\\.c_fc\\.", ".feed_forward.inner."},
                     {"\\.mlp\\.c_proj\\.", ".feed_forward.outer."}},
          .except = tied ? "{decoder.blocks.*.attn.{bias,masked_bias},lm_head.weight}"
                         : "decoder.blocks.*.attn.{bias,masked_bias}",
          .layouts = {transposed_linear("decoder.blocks.*.*.*.weight")}};
}

/// Files of whole state dicts contain the embedding of tokens twice, the second time as the head.
void require_tied(const std::string& file) {
  const TensorSource source = open_tensors(file);
  const auto head = source.tensors.find("lm_head.weight"), table = source.tensors.find("transformer.wte.weight");
  if (head == source.tensors.end() || table == source.tensors.end()) return;
  const TensorData a = head->second.read(), b = table->second.read();
  require<LoadError>(a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.bytes(), b.bytes()), file,
                     ": 'lm_head.weight' is not 'transformer.wte.weight', as 'tie_word_embeddings' says");
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
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads, .hidden = hidden};
  block.dropout = dropout;
  block.norm_first = true;
  block.norm = nn::LayerNormConfig{.epsilon = epsilon};
  block.activation = activation;
  block.initializer = small;
  model.decoder = nn::TransformerEncoderConfig{.layer = block, .layers = layers}.init(device);
  double layer = 1;
  for (auto& made : model.decoder.blocks) {
    const double root = scaled ? std::sqrt(static_cast<double>(width / heads)) : 1;
    if (!scaled || scaled_by_layer) made.attention.scale = 1 / (scaled_by_layer ? layer++ * root : root);
  }
  if (tied) model.head.weight = model.tokens.weight;
  else model.head = nn::LinearConfig{.in = width, .out = vocabulary, .bias = false, .initializer = small}.init(device);
  model.context = context;
  return model;
}

Gpt2Config gpt2_config(const std::string& file) {
  const auto said = read_hf_config<HfFields>(open_hf_config(file, {"gpt2"}), {.harmless = kHarmless, .refused = {}});
  require<ConfigError>(!said.n_inner || *said.n_inner > 0, file, ": 'n_inner' must be positive, got ",
                       said.n_inner.value_or(0));
  return {.vocabulary = said.vocab_size,
          .context = said.n_positions,
          .width = said.n_embd,
          .heads = said.n_head,
          .layers = said.n_layer,
          .hidden = said.n_inner.value_or(0),
          .epsilon = said.layer_norm_epsilon,
          .activation = published_activation(file, "activation_function", said.activation_function),
          .scaled = said.scale_attn_weights,
          .scaled_by_layer = said.scale_attn_by_inverse_layer_idx,
          .tied = said.tie_word_embeddings};
}

LoadReport load_gpt2(CausalLm& model, const std::string& file) {
  const bool tied = model.head.weight.identity() == model.tokens.weight.identity();
  if (tied) require_tied(file);
  return load(model, file, layout(tied));
}

CausalLm load_gpt2(const std::string& folder, const Device& device) {
  CausalLm model = uninitialized(gpt2_config(folder + "/config.json"), device);
  load_gpt2(model, folder);
  return model;
}

}  // namespace kiln::models
