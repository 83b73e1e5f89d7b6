#include "models/language/albert.hpp"

#include <algorithm>

#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/store/save.hpp"
#include "models/published.hpp"

namespace kiln::models {
namespace {

/// ALBERT's keys in config.json.
struct HfFields {
  std::int64_t vocab_size = 30000, embedding_size = 128, hidden_size = 4096, num_hidden_layers = 12,
               num_hidden_groups = 1, num_attention_heads = 64, intermediate_size = 16384, inner_group_num = 1,
               max_position_embeddings = 512, type_vocab_size = 2;
  double layer_norm_eps = 1e-12;
  std::string hidden_act = "gelu_new", position_embedding_type = "absolute";
};

/// These keys change nothing here: dropout rates, and keys of TensorFlow's program that its layers do not have.
constexpr std::string_view kHarmless[] = {
    "attention_probs_dropout_prob", "classifier_dropout_prob", "down_scale_factor", "gap_size",
    "hidden_dropout_prob",          "net_structure_type",      "num_memory_blocks", "tie_word_embeddings"};

const std::vector<Rename>& names() {
  static const std::vector<Rename> kNames = {{"^albert\\.", ""},
                                             {"^embeddings\\.word_embeddings\\.", "tokens."},
                                             {"^embeddings\\.position_embeddings\\.", "positions."},
                                             {"^embeddings\\.token_type_embeddings\\.", "segments."},
                                             {"^embeddings\\.LayerNorm\\.", "norm."},
                                             {"^encoder\\.embedding_hidden_mapping_in\\.", "projection."},
                                             {"^encoder\\.albert_layer_groups\\.0\\.albert_layers\\.0\\.", "layer."},
                                             {"^layer\\.attention\\.LayerNorm\\.", "layer.attention_norm."},
                                             {"^layer\\.attention\\.dense\\.", "layer.attention.output."},
                                             {"^layer\\.full_layer_layer_norm\\.", "layer.feed_forward_norm."},
                                             {"^layer\\.ffn\\.", "layer.feed_forward.inner."},
                                             {"^layer\\.ffn_output\\.", "layer.feed_forward.outer."}};
  return kNames;
}

}  // namespace

Tensor<3> Albert::forward(const Tensor<2, Int>& ids, const BertOptions& options) const {
  const std::int64_t context = positions.weight.dim(0);
  require<ArgumentError>(ids.dim(1) > 0 && ids.dim(1) <= context, "Albert: ", ids.dim(1),
                         " tokens do not fit the model's context of ", context);
  const Tensor<2, Int> parts = options.segments.empty() ? Tensor<2, Int>(zeros_like(ids.value())) : options.segments;
  require<ShapeError>(parts.shape() == ids.shape(), "Albert: segments ", parts.shape(), " must be as many as tokens, ",
                      ids.shape());
  if (!options.padding.empty())
    require<ShapeError>(options.padding.shape() == ids.shape(), "Albert: padding ", options.padding.shape(),
                        " must be as many as tokens, ", ids.shape());
  Tensor<3> x = positions.forward(Tensor<3>(tokens.forward(ids).value() + segments.forward(parts).value()));
  x = projection.forward(dropout.forward(norm.forward(x)));
  for (std::int64_t i = 0; i < layers; ++i) x = layer.forward(x, {.padding = options.padding});
  return x;
}

Tensor<2> Albert::pooled(const Tensor<3>& encoded) const {
  require<ArgumentError>(pooler.has_value(), "Albert: this model has no pooler");
  return pooler->forward(Tensor<2>(at(encoded.value(), 1, 0))).tanh();
}

Albert AlbertConfig::init(const Device& device) const {
  require<ArgumentError>(
      vocabulary > 0 && context > 0 && segments > 0 && embedding > 0 && width > 0 && layers > 0 && hidden > 0,
      "AlbertConfig: all sizes must be positive");
  const nn::Initializer small = nn::init::Normal{.deviation = 0.02};
  const auto table = [&](std::int64_t count) {
    return nn::EmbeddingConfig{.count = count, .size = embedding, .initializer = small}.init(device);
  };
  Albert model;
  model.tokens = table(vocabulary);
  model.positions =
      nn::LearnedPositionsConfig{.length = context, .width = embedding, .initializer = small}.init(device);
  model.segments = table(segments);
  model.norm = nn::LayerNormConfig{.size = embedding, .epsilon = epsilon}.init(device);
  model.dropout.probability = dropout;
  model.projection = nn::LinearConfig{.in = embedding, .out = width, .initializer = small}.init(device);
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads, .hidden = hidden};
  block.dropout = dropout;
  block.norm = nn::LayerNormConfig{.epsilon = epsilon};
  block.activation = activation;
  block.initializer = small;
  model.layer = block.init(device);
  model.layers = layers;
  if (pooler) model.pooler = nn::LinearConfig{.in = width, .out = width, .initializer = small}.init(device);
  return model;
}

AlbertConfig albert_config(const std::string& file) {
  const auto said = read_hf_config<HfFields>(open_hf_config(file, {"albert"}), {.harmless = kHarmless, .refused = {}});
  require<ConfigError>(said.num_hidden_groups == 1 && said.inner_group_num == 1, file,
                       ": 'num_hidden_groups' and 'inner_group_num' must be 1, got ", said.num_hidden_groups, " and ",
                       said.inner_group_num, "; no published model has layers of several kinds");
  require<ConfigError>(said.position_embedding_type == "absolute", file,
                       ": 'position_embedding_type' must be \"absolute\", got \"", shown(said.position_embedding_type),
                       '"');
  return {.vocabulary = said.vocab_size,
          .context = said.max_position_embeddings,
          .segments = said.type_vocab_size,
          .embedding = said.embedding_size,
          .width = said.hidden_size,
          .heads = said.num_attention_heads,
          .layers = said.num_hidden_layers,
          .hidden = said.intermediate_size,
          .epsilon = said.layer_norm_eps,
          .activation = published_activation(file, "hidden_act", said.hidden_act)};
}

LoadReport load_albert(Albert& model, const std::string& file) {
  return load(model, file,
              {.rename = names(),
               .except = "{embeddings.position_ids,embeddings.token_type_ids,predictions,sop_classifier,classifier,"
                         "qa_outputs}"});
}

Albert load_albert(const std::string& folder, const Device& device) {
  AlbertConfig config = albert_config(folder + "/config.json");
  config.pooler = std::ranges::any_of(
      open_tensors(folder).tensors, [](const auto& entry) { return entry.first.find("pooler.") != std::string::npos; });
  Albert model = uninitialized(config, device);
  load_albert(model, folder);
  return model;
}

}  // namespace kiln::models
