#include "models/language/llama.hpp"

#include <algorithm>
#include <charconv>

#include "kiln/nn/module/undrawn.hpp"
#include "kiln/store/save.hpp"
#include "models/published.hpp"

namespace kiln::models {
namespace {

constexpr std::string_view kGguf = "gguf";

struct PublishedScaling {
  std::string rope_type = "default", type = "default";  // the newer and the older key
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

/// Llama's keys in config.json.
struct Published {
  std::int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32,
               num_attention_heads = 32, max_position_embeddings = 2048;
  std::optional<std::int64_t> num_key_value_heads, head_dim;
  double rms_norm_eps = 1e-6, rope_theta = 10000;
  bool tie_word_embeddings = false, attention_bias = false, mlp_bias = false;
  std::string hidden_act = "silu";
  std::optional<PublishedScaling> rope_scaling;
};

nn::RotaryScaling scaling_of(const PublishedScaling& said, const std::string& file) {
  const std::string& kind = said.rope_type != "default" ? said.rope_type : said.type;
  if (kind == "default") return nn::scaling::None{};
  if (kind == "linear") return nn::scaling::Linear{said.factor};
  if (kind == "llama3")
    return nn::scaling::Llama3{said.factor, said.low_freq_factor, said.high_freq_factor,
                               said.original_max_position_embeddings};
  fail<ConfigError>(file, ": 'rope_scaling.rope_type' must be one of \"default\", \"linear\", \"llama3\", got \"",
                    shown(kind), '"');
}

LlamaConfig config_of_json(const std::string& file) {
  const auto said = load_published<Published>(file, "llama");
  require<ConfigError>(said.hidden_act == "silu" && !said.attention_bias && !said.mlp_bias, file,
                       ": a Llama has \"silu\" for its 'hidden_act', and no biases");
  LlamaConfig config{.vocabulary = said.vocab_size,
                     .context = said.max_position_embeddings,
                     .width = said.hidden_size,
                     .heads = said.num_attention_heads,
                     .kv_heads = said.num_key_value_heads.value_or(0),
                     .layers = said.num_hidden_layers,
                     .hidden = said.intermediate_size,
                     .head_width = said.head_dim.value_or(0),
                     .epsilon = said.rms_norm_eps,
                     .tied = said.tie_word_embeddings};
  config.rotary.base = said.rope_theta;
  if (said.rope_scaling) config.rotary.scaling = scaling_of(*said.rope_scaling, file);
  return config;
}

/// GGUF's metadata, by key.
struct GgufMetadata {
  const std::string& file;
  const Metadata& said;

  /// Of the key below "llama.". Without a fallback it must be there.
  template <class T>
  T number(const std::string& key, std::optional<T> fallback = {}) const {
    const auto entry = said.find("llama." + key);
    if (entry == said.end() && fallback) return *fallback;
    require<ConfigError>(entry != said.end(), file, ": 'llama.", key, "' is missing");
    T result{};
    const std::string& text = entry->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    require<ConfigError>(error == std::errc() && end == text.data() + text.size(), file, ": 'llama.", key,
                         "' must be a number, got ", shown(text));
    return result;
  }
};

LlamaConfig config_of_gguf(const std::string& file, const TensorSource& source) {
  const auto architecture = source.metadata.find("general.architecture");
  require<ConfigError>(architecture != source.metadata.end() && architecture->second == "llama", file,
                       ": 'general.architecture' must be \"llama\", got ",
                       architecture == source.metadata.end() ? "nothing" : shown(architecture->second));
  require<ConfigError>(!source.tensors.contains("rope_freqs.weight"), file,
                       ": holds scaled rotary frequencies, which are read from config.json alone");
  const auto table = source.tensors.find("token_embd.weight");
  require<ConfigError>(table != source.tensors.end() && table->second.shape.size() == 2, file,
                       ": 'token_embd.weight', a matrix, is missing");
  const GgufMetadata said{file, source.metadata};
  LlamaConfig config{.vocabulary = table->second.shape[0],
                     .context = said.number<std::int64_t>("context_length"),
                     .width = said.number<std::int64_t>("embedding_length"),
                     .heads = said.number<std::int64_t>("attention.head_count"),
                     .kv_heads = said.number<std::int64_t>("attention.head_count_kv", 0),
                     .layers = said.number<std::int64_t>("block_count"),
                     .hidden = said.number<std::int64_t>("feed_forward_length"),
                     .head_width = said.number<std::int64_t>("attention.key_length", 0),
                     .epsilon = said.number<double>("attention.layer_norm_rms_epsilon"),
                     .tied = !source.tensors.contains("output.weight")};
  config.rotary.base = said.number<double>("rope.freq_base", 10000.0);
  config.rotary.pairs = RotaryPairs::Neighbours;
  return config;
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
  block.rotary->length = context;
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
  return config_of_gguf(file, source);
}

LoadReport load_llama(CausalLm& model, const std::string& file, FloatPolicy floats) {
  const bool is_gguf = open_tensors(file).format == kGguf;
  require<LoadError>(is_gguf == turns_neighbours(model), file, ": the model's rotary encoding turns ",
                     is_gguf ? "halves, and GGUF has queries and keys in the order of neighbours"
                             : "neighbours, and only GGUF has queries and keys in that order");
  return load(
      model, file,
      {.floats = floats, .rename = is_gguf ? gguf_names() : hugging_face_names(), .except = "**.rotary_emb.inv_freq"});
}

CausalLm load_llama(const std::string& path, const Device& device, FloatPolicy floats) {
  const bool is_file = path.ends_with(".gguf");
  CausalLm model = undrawn(llama_config(is_file ? path : path + "/config.json"), device);
  load_llama(model, path, floats);
  return model;
}

}  // namespace kiln::models
