// BERT (Devlin et al., "BERT: pre-training of deep bidirectional transformers", 2019): an encoder of whole sequences.
#pragma once
#include <optional>
#include <string>

#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/transformer/transformer.hpp"
#include "kiln/store/load/options.hpp"

namespace kiln::models {

/// What a sequence is besides its tokens.
struct BertOptions {
  Tensor<2, Int> segments = {};  // [batch, time]: which of two sentences a token belongs to; none: all to the first
  Tensor<2, Bool> padding = {};  // [batch, time]: true where there is a token; none: everywhere
};

struct Bert {
  nn::Embedding tokens;
  nn::LearnedPositions positions;
  nn::Embedding segments;
  nn::LayerNorm norm;
  nn::Dropout dropout;
  nn::TransformerEncoder encoder;
  std::optional<nn::Linear> pooler = {};

  /// tokens [batch, time] -> [batch, time, width]. Throws ArgumentError for sequences longer than the table of positions,
  /// IndexError for tokens or segments that are not in theirs.
  Tensor<3> forward(const Tensor<2, Int>& ids, const BertOptions& options = {}) const;
  /// [batch, time, width] -> [batch, width], of the first token. Throws ArgumentError for a model without a pooler.
  Tensor<2> pooled(const Tensor<3>& encoded) const;
};

/// Of the model called base.
struct BertConfig {
  std::int64_t vocabulary = 30522, context = 512, segments = 2, width = 768, heads = 12, layers = 12, hidden = 3072;
  double dropout = 0.1, epsilon = 1e-12;
  nn::ActivationConfig activation = nn::Gelu{};
  bool pooler = true;

  /// Throws ArgumentError for sizes that do not go together.
  Bert init(const Device& device) const;
};

/// What the config.json of published models says. Throws ConfigError with the file and the key for what is not built, and for
/// a key that is not known.
BertConfig bert_config(const std::string& file);
/// Takes over weights under the names of Hugging Face's BertModel (`encoder.layer.0.attention.self.query.weight`), or of a
/// model around one (`bert.encoder. ...`), whose heads are passed over. Throws LoadError for files of another model.
LoadReport load_bert(Bert& model, const std::string& file);
/// A folder with config.json and one file of weights, which may have no pooler.
Bert load_bert(const std::string& folder, const Device& device);

}  // namespace kiln::models
