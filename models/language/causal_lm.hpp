// A causal language model: embeddings, blocks of causal attention, and a head that predicts the next token. GPT-2 and
// Llama are two configs of it (gpt2.hpp, llama.hpp).
#pragma once
#include <optional>

#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/transformer/transformer.hpp"

namespace kiln::models {

struct CausalLm {
  nn::Embedding tokens;
  std::optional<nn::LearnedPositions> positions = {};  // empty if attention uses rotary positions
  nn::Dropout dropout = {.probability = 0};
  nn::TransformerEncoder decoder;
  nn::Linear head;           // has no bias; its weight may be that of `tokens`
  std::int64_t context = 0;  // the longest sequence in tokens

  /// tokens [batch, time] -> logits [batch, time, vocabulary] of the next tokens. Throws ArgumentError for sequences
  /// that are longer than the context, IndexError for tokens that are not in the vocabulary.
  Tensor<3> forward(const Tensor<2, Int>& ids) const;
  /// Computes the logits for tokens that follow those in the cache. Computing them token by token gives the same result
  /// as the whole sequence.
  Tensor<3> forward(const Tensor<2, Int>& ids, nn::TransformerCache& cache) const;
  /// Returns the logits [batch, vocabulary] of the token after the last one only.
  Tensor<2> next(const Tensor<2, Int>& ids, nn::TransformerCache& cache) const;
  /// Returns an empty cache for `capacity` tokens. Throws ArgumentError for more than the context.
  nn::TransformerCache cache(std::int64_t batch, std::int64_t capacity) const;
  /// Returns the mean cross entropy of the next tokens, targets [batch, time].
  Tensor<0> loss(const Tensor<2, Int>& ids, const Tensor<2, Int>& targets) const;

 private:
  Tensor<3> embedded(const Tensor<2, Int>& ids, std::int64_t start) const;
};

}  // namespace kiln::models
