#include "models/language/llama.hpp"

#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/store/save.hpp"
#include "models/language/llama_gguf.hpp"
#include "models/language/rope.hpp"
#include "models/published.hpp"

namespace kiln::models {
namespace {

constexpr std::string_view kGguf = "gguf";

/// Llama's keys in config.json.
struct HfFields {
  std::int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32,
               num_attention_heads = 32, max_position_embeddings = 2048;
  std::optional<std::int64_t> num_key_value_heads, head_dim, sliding_window;
  double rms_norm_eps = 1e-6;
  bool tie_word_embeddings = false, attention_bias = false, mlp_bias = false;
  std::string hidden_act = "silu";
  std::optional<PublishedRope> rope_parameters, rope_scaling;
  std::optional<double> rope_theta, partial_rotary_factor;
  std::optional<std::int64_t> original_max_position_embeddings;
};

constexpr std::string_view kHarmless[] = {"attention_dropout", "is_decoder", "max_sequence_length", "pretraining_tp"};

LlamaConfig config_of_json(const std::string& file) {
  const HfConfig config = open_hf_config(file, {"llama", "mistral"});
  HfFields defaults;
  if (config.type == "mistral") {
    defaults.intermediate_size = 14336;
    defaults.num_key_value_heads = 8;
    defaults.max_position_embeddings = 131072;
    defaults.sliding_window = 4096;
  }
  const auto said = read_hf_config<HfFields>(config, {.harmless = kHarmless, .refused = {}}, defaults);
  require<ConfigError>(said.hidden_act == "silu" && !said.attention_bias && !said.mlp_bias, file,
                       ": a Llama has \"silu\" for its 'hidden_act', and no biases");
  require<ConfigError>(
      config.type == "mistral" || !said.sliding_window, file,
      ": 'sliding_window' is a Mistral's, and a Llama's weights were trained without; take it out of the "
      "file, or make 'model_type' \"mistral\"");
  require<ConfigError>(
      said.hidden_size > 0 && said.num_attention_heads > 0 && said.max_position_embeddings > 0 &&
          said.head_dim.value_or(1) > 0,
      file, ": 'hidden_size', 'num_attention_heads', 'max_position_embeddings' and 'head_dim' must be positive");
  const std::int64_t head = said.head_dim.value_or(said.hidden_size / said.num_attention_heads);
  const Rope rope = rope_of({.rope_parameters = said.rope_parameters,
                             .rope_scaling = said.rope_scaling,
                             .rope_theta = said.rope_theta,
                             .partial_rotary_factor = said.partial_rotary_factor,
                             .original_max_position_embeddings = said.original_max_position_embeddings},
                            head, said.max_position_embeddings, file);
  return {.vocabulary = said.vocab_size,
          .context = rope.context,
          .width = said.hidden_size,
          .heads = said.num_attention_heads,
          .kv_heads = said.num_key_value_heads.value_or(0),
          .layers = said.num_hidden_layers,
          .hidden = said.intermediate_size,
          .head_width = said.head_dim.value_or(0),
          .epsilon = said.rms_norm_eps,
          .rotary = rope.encoding,
          .tied = said.tie_word_embeddings,
          .window = said.sliding_window,
          .trained = said.max_position_embeddings};
}

const std::vector<Rename>& hugging_face_names() {
  static const std::vector<Rename> kNames = {{"^model\\.", ""},
                                             {"^embed_tokens\\.", "tokens."},
                                             {"^layers\\.(\\d+)\\.", "decoder.blocks.$1."},
                                             {"^norm\\.", "decoder.norm."},
                                             {"^lm_head\\.", "head."},
                                             {"\\.self_attn\\.q_proj\\.", ".attention.query."},
                                             {"\\.self_attn\\.k_proj\\.", ".attention.key."},
                                             {"\\.self_attn\\.v_proj\\.", ".attention.value."},
                                             {"\\.self_attn\\.o_proj\\.", ".attention.output."},
                                             {"\\.input_layernorm\\.", ".attention_norm."},
                                             {"\\.post_attention_layernorm\\.", ".feed_forward_norm."},
                                             {"\\.mlp\\.gate_proj\\.", ".feed_forward.gate."},
                                             {"\\.mlp\\.up_proj\\.", ".feed_forward.inner."},
                                             {"\\.mlp\\.down_proj\\.", ".feed_forward.outer."}};
  return kNames;
}

const std::vector<Rename>& gguf_names() {
  static const std::vector<Rename> kNames = {{"^token_embd\\.", "tokens."},
                                             {"^blk\\.(\\d+)\\.", "decoder.blocks.$1."},
                                             {"^output_norm\\.", "decoder.norm."},
                                             {"^output\\.", "head."},
                                             {"\\.attn_q\\.", ".attention.query."},
                                             {"\\.attn_k\\.", ".attention.key."},
                                             {"\\.attn_v\\.", ".attention.value."},
                                             {"\\.attn_output\\.", ".attention.output."},
                                             {"\\.attn_norm\\.", ".attention_norm."},
                                             {"\\.ffn_norm\\.", ".feed_forward_norm."},
                                             {"\\.ffn_gate\\.", ".feed_forward.gate."},
                                             {"\\.ffn_up\\.", ".feed_forward.inner."},
                                             {"\\.ffn_down\\.", ".feed_forward.outer."}};
  return kNames;
}

bool turns_neighbours(const CausalLm& model) {
  const auto& rotary = model.decoder.blocks.at(0).attention.rotary;
  return rotary && rotary->pairs == RotaryPairs::Neighbours;
}

}  // namespace

CausalLm LlamaConfig::init(const Device& device) const {
  require<ArgumentError>(vocabulary > 0 && context > 0 && width > 0 && layers > 0 && hidden > 0,
                         "LlamaConfig: vocabulary, context, width, layers and hidden must be positive");
  const nn::Initializer small = nn::init::Normal{.deviation = 0.02};
  CausalLm model;
  model.tokens = nn::EmbeddingConfig{.count = vocabulary, .size = width, .initializer = small}.init(device);
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads, .hidden = hidden};
  block.dropout = 0;
  block.norm_first = true;
  block.norm = nn::RmsNormConfig{.epsilon = epsilon};
  block.activation = nn::Silu{};
  block.gated = true;
  block.bias = false;
  block.kv_heads = kv_heads;
  block.head_width = head_width;
  block.rotary = rotary;
  block.rotary->length = trained ? trained : context;
  block.window = window;
  block.initializer = small;
  model.decoder = nn::TransformerEncoderConfig{.layer = block, .layers = layers}.init(device);
  if (tied) model.head.weight = model.tokens.weight;
  else model.head = nn::LinearConfig{.in = width, .out = vocabulary, .bias = false, .initializer = small}.init(device);
  model.context = context;
  return model;
}

LlamaConfig llama_config(const std::string& file) {
  if (file.ends_with(".json")) return config_of_json(file);
  const TensorSource source = open_tensors(file);
  require<ConfigError>(source.format == kGguf, file, ": only GGUF files say what model they hold; name a config.json");
  return llama_config_of(source, file);
}

LoadReport load_llama(CausalLm& model, const std::string& file, FloatPolicy floats) {
  const bool is_gguf = open_tensors(file).format == kGguf;
  require<LoadError>(is_gguf == turns_neighbours(model), file, ": the model's rotary encoding rotates ",
                     is_gguf ? "halves, and GGUF has queries and keys in the order of neighbours"
                             : "neighbours, and only GGUF has queries and keys in that order");
  return load(
      model, file,
      {.floats = floats,
       .rename = is_gguf ? gguf_names() : hugging_face_names(),
       .except = "{**.rotary_emb.inv_freq,rope_freqs.weight,rope_factors_long.weight,rope_factors_short.weight}"});
}

CausalLm load_llama(const std::string& path, const Device& device, FloatPolicy floats) {
  const bool is_file = path.ends_with(".gguf");
  CausalLm model = uninitialized(llama_config(is_file ? path : path + "/config.json"), device);
  load_llama(model, path, floats);
  return model;
}

}  // namespace kiln::models
