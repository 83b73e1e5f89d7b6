#include "models/language/bert.hpp"

#include <algorithm>

#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/store/save.hpp"
#include "models/published.hpp"

namespace kiln::models {
namespace {

/// BERT's keys in config.json.
struct HfFields {
  std::int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12,
               intermediate_size = 3072, max_position_embeddings = 512, type_vocab_size = 2;
  double layer_norm_eps = 1e-12;
  std::string hidden_act = "gelu", position_embedding_type = "absolute";
};

/// These keys change nothing here: dropout rates, heads of other tasks, and a pooler that PyTorch's BERT does not have.
constexpr std::string_view kHarmless[] = {
    "attention_probs_dropout_prob", "classifier_dropout",   "directionality",
    "hidden_dropout_prob",          "pooler_fc_size",       "pooler_num_attention_heads",
    "pooler_num_fc_layers",         "pooler_size_per_head", "pooler_type",
    "tie_word_embeddings"};
constexpr UnsupportedKey kRefused[] = {
    {"is_decoder",
     "a BERT that sees only what came before is not built; set it to false if the weights are an encoder's"}};

const std::vector<Rename>& names() {
  static const std::vector<Rename> kNames = [] {
    std::vector<Rename> rules(norm_names().begin(), norm_names().end());
    const std::vector<Rename> own = {{"^bert\\.", ""},
                                     {"^embeddings\\.word_embeddings\\.", "tokens."},
                                     {"^embeddings\\.position_embeddings\\.", "positions."},
                                     {"^embeddings\\.token_type_embeddings\\.", "segments."},
                                     {"^embeddings\\.LayerNorm\\.", "norm."},
                                     {"^pooler\\.dense\\.", "pooler."},
                                     {"^encoder\\.layer\\.(\\d+)\\.", "encoder.blocks.$1."},
                                     {"\\.attention\\.self\\.", ".attention."},
                                     {"\\.attention\\.output\\.dense\\.", ".attention.output."},
                                     {"\\.attention\\.output\\.LayerNorm\\.", ".attention_norm."},
                                     {"\\.intermediate\\.dense\\.", ".feed_forward.inner."},
                                     {"\\.output\\.dense\\.", ".feed_forward.outer."},
                                     {"\\.output\\.LayerNorm\\.", ".feed_forward_norm."}};
    rules.insert(rules.end(), own.begin(), own.end());
    return rules;
  }();
  return kNames;
}

}  // namespace

Tensor<3> Bert::forward(const Tensor<2, Int>& ids, const BertOptions& options) const {
  const std::int64_t context = positions.weight.dim(0);
  require<ArgumentError>(ids.dim(1) > 0 && ids.dim(1) <= context, "Bert: ", ids.dim(1),
                         " tokens do not fit the model's context of ", context);
  const Tensor<2, Int> parts = options.segments.empty() ? Tensor<2, Int>(zeros_like(ids.value())) : options.segments;
  require<ShapeError>(parts.shape() == ids.shape(), "Bert: segments ", parts.shape(), " must be as many as tokens, ",
                      ids.shape());
  const Tensor<3> x = positions.forward(Tensor<3>(tokens.forward(ids).value() + segments.forward(parts).value()));
  return encoder.forward(dropout.forward(norm.forward(x)), {.padding = options.padding});
}

Tensor<2> Bert::pooled(const Tensor<3>& encoded) const {
  require<ArgumentError>(pooler.has_value(), "Bert: this model has no pooler");
  return pooler->forward(Tensor<2>(at(encoded.value(), 1, 0))).tanh();
}

Bert BertConfig::init(const Device& device) const {
  require<ArgumentError>(vocabulary > 0 && context > 0 && segments > 0 && width > 0 && layers > 0 && hidden > 0,
                         "BertConfig: all sizes must be positive");
  const nn::Initializer small = nn::init::Normal{.deviation = 0.02};
  const auto table = [&](std::int64_t count) {
    return nn::EmbeddingConfig{.count = count, .size = width, .initializer = small}.init(device);
  };
  Bert model;
  model.tokens = table(vocabulary);
  model.positions = nn::LearnedPositionsConfig{.length = context, .width = width, .initializer = small}.init(device);
  model.segments = table(segments);
  model.norm = nn::LayerNormConfig{.size = width, .epsilon = epsilon}.init(device);
  model.dropout.probability = dropout;
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads, .hidden = hidden};
  block.dropout = dropout;
  block.norm = nn::LayerNormConfig{.epsilon = epsilon};
  block.activation = activation;
  block.initializer = small;
  model.encoder = nn::TransformerEncoderConfig{.layer = block, .layers = layers}.init(device);
  if (pooler) model.pooler = nn::LinearConfig{.in = width, .out = width, .initializer = small}.init(device);
  return model;
}

BertConfig bert_config(const std::string& file) {
  const auto said =
      read_hf_config<HfFields>(open_hf_config(file, {"bert"}), {.harmless = kHarmless, .refused = kRefused});
  require<ConfigError>(said.position_embedding_type == "absolute", file,
                       ": 'position_embedding_type' must be \"absolute\", got \"", shown(said.position_embedding_type),
                       '"');
  return {.vocabulary = said.vocab_size,
          .context = said.max_position_embeddings,
          .segments = said.type_vocab_size,
          .width = said.hidden_size,
          .heads = said.num_attention_heads,
          .layers = said.num_hidden_layers,
          .hidden = said.intermediate_size,
          .epsilon = said.layer_norm_eps,
          .activation = published_activation(file, "hidden_act", said.hidden_act)};
}

LoadReport load_bert(Bert& model, const std::string& file) {
  return load(model, file, {.rename = names(), .except = "{embeddings.position_ids,cls,classifier,qa_outputs}"});
}

Bert load_bert(const std::string& folder, const Device& device) {
  BertConfig config = bert_config(folder + "/config.json");
  config.pooler = std::ranges::any_of(
      open_tensors(folder).tensors, [](const auto& entry) { return entry.first.find("pooler.") != std::string::npos; });
  Bert model = uninitialized(config, device);
  load_bert(model, folder);
  return model;
}

}  // namespace kiln::models
