// A classifier of texts: a transformer encoder and a head on the mean over the words.
#pragma once
#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/transformer/transformer.hpp"

namespace kiln::models {

struct TextClassifier {
  nn::Embedding words;
  nn::LearnedPositions positions;
  nn::Dropout dropout;
  nn::TransformerEncoder encoder;
  nn::Linear head;
  std::int64_t padding = 0;  // the word that fills up a text's end

  /// words [batch, time] -> logits [batch, classes]; a row of nothing but padding gives the head's bias. Throws
  /// ArgumentError for texts longer than the table of positions, IndexError for words that are not in the vocabulary.
  Tensor<2> forward(const Tensor<2, Int>& ids) const;
};

struct TextClassifierConfig {
  std::int64_t vocabulary, classes;
  std::int64_t context = 128, width = 64, heads = 4, layers = 2;
  double dropout = 0.3;
  std::int64_t padding = 0;
  TextClassifier init(const Device& device) const;
};

}  // namespace kiln::models
