#include "models/language/bert.hpp"

#include <algorithm>

#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/numbers.hpp"
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
    const std::vector<Rename> own = {{"^(bert|roberta)\\.", ""},
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

Tensor<3> with_positions(const Bert& model, const Tensor<3>& x, const Tensor<2, Bool>& padding) {
  if (model.first_position == 0 || padding.empty()) return model.positions.forward(x, model.first_position);
  const Tensor<2, Int> there = padding.to_int();
  const Tensor<2, Int> places = there.cumsum(1) * there + (model.first_position - 1);
  return x + nn::Embedding{.weight = model.positions.weight}.forward(places);
}

/// The id of the padding token, behind which RoBERTa's positions begin.
std::int64_t padding_of(const HfConfig& config) {
  for (const auto& [key, value] : config.keys) {
    if (key != "pad_token_id") continue;
    std::int64_t id = 0;
    kiln::config::read(value, id, kiln::config::ConfigPath{config.file, "pad_token_id"}, true);
    require<ConfigError>(id >= 0 && id < 1'000'000'000, config.file, ": 'pad_token_id' must not be below 0, got ", id);
    return id;
  }
  return 1;
}

}  // namespace

Tensor<3> Bert::forward(const Tensor<2, Int>& ids, const BertOptions& options) const {
  const std::int64_t context = positions.weight.dim(0) - first_position;
  require<ArgumentError>(ids.dim(1) > 0 && ids.dim(1) <= context, "Bert: ", ids.dim(1),
                         " tokens do not fit the model's context of ", context);
  const Tensor<2, Int> parts = options.segments.empty() ? Tensor<2, Int>(zeros_like(ids.value())) : options.segments;
  require<ShapeError>(parts.shape() == ids.shape(), "Bert: segments ", parts.shape(), " must be as many as tokens, ",
                      ids.shape());
  if (!options.padding.empty())
    require<ShapeError>(options.padding.shape() == ids.shape(), "Bert: padding ", options.padding.shape(),
                        " must be as many as tokens, ", ids.shape());
  const Tensor<3> x =
      with_positions(*this, Tensor<3>(tokens.forward(ids).value() + segments.forward(parts).value()), options.padding);
  return encoder.forward(dropout.forward(norm.forward(x)), {.padding = options.padding});
}

Tensor<2> Bert::pooled(const Tensor<3>& encoded) const {
  require<ArgumentError>(pooler.has_value(), "Bert: this model has no pooler");
  return pooler->forward(Tensor<2>(at(encoded.value(), 1, 0))).tanh();
}

Tensor<2> embed_sentences(const Bert& model, const Tensor<2, Int>& ids, const BertOptions& options) {
  const Tensor<3> states = model.forward(ids, options);
  const Tensor<2> sum =
      options.padding.empty() ? states.sum(1) : (states * options.padding.to_float().unsqueeze(2)).sum(1);
  return sum / clamp_min(sum.square().sum(keep, 1).sqrt(), 1e-12);  // a mean has the same direction as a sum
}

Bert BertConfig::init(const Device& device) const {
  require<ArgumentError>(
      vocabulary > 0 && context > 0 && first_position >= 0 && segments > 0 && width > 0 && layers > 0 && hidden > 0,
      "BertConfig: all sizes must be positive");
  const nn::Initializer small = nn::init::Normal{.deviation = 0.02};
  const auto table = [&](std::int64_t count) {
    return nn::EmbeddingConfig{.count = count, .size = width, .initializer = small}.init(device);
  };
  Bert model;
  model.tokens = table(vocabulary);
  model.positions =
      nn::LearnedPositionsConfig{.length = context + first_position, .width = width, .initializer = small}.init(device);
  model.segments = table(segments);
  model.norm = nn::LayerNormConfig{.size = width, .epsilon = epsilon}.init(device);
  model.dropout.probability = dropout;
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads, .hidden = hidden};
  block.dropout = dropout;
  block.norm = nn::LayerNormConfig{.epsilon = epsilon};
  block.activation = activation;
  block.initializer = small;
  model.encoder = nn::TransformerEncoderConfig{.layer = block, .layers = layers}.init(device);
  model.first_position = first_position;
  if (pooler) model.pooler = nn::LinearConfig{.in = width, .out = width, .initializer = small}.init(device);
  return model;
}

BertConfig bert_config(const std::string& file) {
  const HfConfig config = open_hf_config(file, {"bert", "roberta", "xlm-roberta", "camembert"});
  const HfFields defaults = config.type == "bert" ? HfFields{} : HfFields{.vocab_size = 50265};
  const auto said = read_hf_config<HfFields>(config, {.harmless = kHarmless, .refused = kRefused}, defaults);
  const std::int64_t first = config.type == "bert" ? 0 : padding_of(config) + 1;
  require<ConfigError>(said.max_position_embeddings > first, file, ": 'max_position_embeddings' is ",
                       said.max_position_embeddings, ", which leaves no position behind the first ", first);
  require<ConfigError>(said.position_embedding_type == "absolute", file,
                       ": 'position_embedding_type' must be \"absolute\", got \"", shown(said.position_embedding_type),
                       '"');
  return {.vocabulary = said.vocab_size,
          .context = said.max_position_embeddings - first,
          .segments = said.type_vocab_size,
          .width = said.hidden_size,
          .heads = said.num_attention_heads,
          .layers = said.num_hidden_layers,
          .hidden = said.intermediate_size,
          .epsilon = said.layer_norm_eps,
          .activation = published_activation(file, "hidden_act", said.hidden_act),
          .first_position = first};
}

LoadReport load_bert(Bert& model, const std::string& file) {
  return load(model, file,
              {.rename = names(),
               .except = "{embeddings.position_ids,embeddings.token_type_ids,cls,lm_head,classifier,qa_outputs}"});
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
