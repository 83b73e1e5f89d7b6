// A tagger of words: a bidirectional LSTM (Huang, Xu, Yu, "Bidirectional LSTM-CRF models for sequence tagging", 2015;
// without the CRF).
#pragma once
#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/recurrent/lstm.hpp"

namespace kiln::models {

struct Tagger {
  nn::Embedding words;
  nn::Dropout dropout;
  nn::Lstm lstm;
  nn::Linear head;

  /// words [batch, time], lengths [batch] -> logits [batch, time, tags]; those after a row's end have no meaning.
  /// Throws IndexError for a word that is not in the vocabulary.
  Tensor<3> forward(const Tensor<2, Int>& ids, const Tensor<1, Int>& lengths) const;
  /// Returns the mean cross entropy of tags [batch, time], without tags that are -1.
  Tensor<0> loss(const Tensor<2, Int>& ids, const Tensor<1, Int>& lengths, const Tensor<2, Int>& tags) const;
};

struct TaggerConfig {
  std::int64_t vocabulary, tags;
  std::int64_t width = 64, hidden = 64, layers = 1;
  double dropout = 0.3;
  Tagger init(const Device& device) const;
};

}  // namespace kiln::models
