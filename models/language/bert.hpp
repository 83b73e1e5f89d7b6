// BERT (Devlin et al., "BERT: pre-training of deep bidirectional transformers", 2019): an encoder of whole sequences; and
// what differs from it in its names and positions alone: RoBERTa (Liu et al., "RoBERTa: a robustly optimized BERT
// pretraining approach", 2019), XLM-RoBERTa, and small ones such as MiniLM.
#pragma once
#include <optional>
#include <string>

#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/transformer/transformer.hpp"
#include "kiln/store/load/options.hpp"

namespace kiln::models {

/// Optional inputs besides the tokens.
struct BertOptions {
  // [batch, time]: which of two sentences a token belongs to; empty if all belong to the first.
  Tensor<2, Int> segments = {};
  Tensor<2, Bool> padding = {};  // [batch, time]: true where there is a token; empty if there is one everywhere
};

struct Bert {
  nn::Embedding tokens;
  nn::LearnedPositions positions;
  nn::Embedding segments;
  nn::LayerNorm norm;
  nn::Dropout dropout;
  nn::TransformerEncoder encoder;
  std::optional<nn::Linear> pooler = {};
  std::int64_t first_position = 0;  // the row of the table of positions that the first token gets

  /// tokens [batch, time] -> [batch, time, width]. Throws ArgumentError for sequences longer than the table of
  /// positions, IndexError for tokens or segments outside their tables. Where the first position is not 0, what is
  /// padding by the options has no position of its own, also at the beginning of a row.
  Tensor<3> forward(const Tensor<2, Int>& ids, const BertOptions& options = {}) const;
  /// [batch, time, width] -> [batch, width], computed from the first token. Throws ArgumentError for a model without a
  /// pooler.
  Tensor<2> pooled(const Tensor<3>& encoded) const;
};

/// The defaults are those of BERT base.
struct BertConfig {
  std::int64_t vocabulary = 30522, context = 512, segments = 2, width = 768, heads = 12, layers = 12, hidden = 3072;
  double dropout = 0.1, epsilon = 1e-12;
  nn::ActivationConfig activation = nn::Gelu{};
  bool pooler = true;
  // RoBERTa: 2, one more than the id of its padding token. So many rows of the table, whose length is context plus this,
  // are no token's positions.
  std::int64_t first_position = 0;

  /// Throws ArgumentError for inconsistent sizes.
  Bert init(const Device& device) const;
};

/// [batch, width], of length 1: the mean of the states of each row's own tokens, as sentence-transformers has it for
/// all-MiniLM-L6-v2. A row of padding alone is zeros.
Tensor<2> embed_sentences(const Bert& model, const Tensor<2, Int>& ids, const BertOptions& options = {});

/// Reads the config.json of published models of the types bert, roberta, xlm-roberta and camembert. Throws ConfigError with the file and the key for options that are not
/// implemented, and for an unknown key.
BertConfig bert_config(const std::string& file);
/// Loads weights under the names of Hugging Face's BertModel (`encoder.layer.0.attention.self.query.weight`), or of a
/// model that contains one (`bert.encoder. ...`, `roberta.encoder. ...`), whose heads are ignored. Throws LoadError for files of another model.
LoadReport load_bert(Bert& model, const std::string& file);
/// Loads a folder with config.json and one file of weights, which may have no pooler.
Bert load_bert(const std::string& folder, const Device& device);

}  // namespace kiln::models
