// ALBERT (Lan et al., "ALBERT: a lite BERT for self-supervised learning of language representations", 2020): a BERT whose
// embeddings are narrower than its states, and whose layers share their weights.
#pragma once
#include "models/language/bert.hpp"

namespace kiln::models {

struct Albert {
  nn::Embedding tokens;  // of the embeddings' width
  nn::LearnedPositions positions;
  nn::Embedding segments;
  nn::LayerNorm norm;
  nn::Dropout dropout;
  nn::Linear projection;  // to the states' width
  nn::TransformerEncoderLayer layer;
  std::int64_t layers = 12;  // how often the layer is applied
  std::optional<nn::Linear> pooler = {};

  /// tokens [batch, time] -> [batch, time, width]. Throws ArgumentError for sequences longer than the table of
  /// positions, IndexError for tokens or segments outside their tables, ShapeError for options of other sizes.
  Tensor<3> forward(const Tensor<2, Int>& ids, const BertOptions& options = {}) const;
  /// [batch, time, width] -> [batch, width], computed from the first token. Throws ArgumentError for a model without a
  /// pooler.
  Tensor<2> pooled(const Tensor<3>& encoded) const;
};

/// The defaults are those of ALBERT base, version 2.
struct AlbertConfig {
  std::int64_t vocabulary = 30000, context = 512, segments = 2, embedding = 128, width = 768, heads = 12, layers = 12,
               hidden = 3072;
  double dropout = 0, epsilon = 1e-12;
  nn::ActivationConfig activation = nn::Gelu{.approximate = true};
  bool pooler = true;

  /// Throws ArgumentError for inconsistent sizes.
  Albert init(const Device& device) const;
};

/// Reads the config.json of published models. Throws ConfigError with the file and the key for options that are not
/// implemented, among them several groups of layers, and for an unknown key.
AlbertConfig albert_config(const std::string& file);
/// Loads weights under the names of Hugging Face's AlbertModel, or of a model that contains one (`albert.encoder. ...`),
/// whose heads are ignored. Throws LoadError for files of another model.
LoadReport load_albert(Albert& model, const std::string& file);
/// Loads a folder with config.json and one file of weights, which may have no pooler.
Albert load_albert(const std::string& folder, const Device& device);

}  // namespace kiln::models
