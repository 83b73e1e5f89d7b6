// A decoder of tokens: embeddings, blocks of causal attention, and a head that says how likely each token is to come next.
// GPT-2 and Llama are two configs of it (gpt2.hpp, llama.hpp).
#pragma once
#include <optional>

#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/transformer/transformer.hpp"

namespace kiln::models {

struct CausalLm {
  nn::Embedding tokens;
  std::optional<nn::LearnedPositions> positions = {};  // none: attention turns queries and keys
  nn::Dropout dropout = {.probability = 0};
  nn::TransformerEncoder decoder;
  nn::Linear head;           // without a bias; its weight may be that of `tokens`
  std::int64_t context = 0;  // the most tokens of a sequence

  /// tokens [batch, time] -> logits [batch, time, vocabulary] of each next one. Throws ArgumentError for sequences that are
  /// longer than the context, IndexError for tokens that are not in the vocabulary.
  Tensor<3> forward(const Tensor<2, Int>& ids) const;
  /// The same for tokens that follow what the cache holds: token by token the same as the whole sequence.
  Tensor<3> forward(const Tensor<2, Int>& ids, nn::TransformerCache& cache) const;
  /// The logits [batch, vocabulary] of what comes after the last token alone.
  Tensor<2> next(const Tensor<2, Int>& ids, nn::TransformerCache& cache) const;
  /// An empty cache for so many tokens. Throws ArgumentError for more than the context.
  nn::TransformerCache cache(std::int64_t batch, std::int64_t capacity) const;
  /// The mean cross entropy of the tokens that come next, targets [batch, time].
  Tensor<0> loss(const Tensor<2, Int>& ids, const Tensor<2, Int>& targets) const;

 private:
  Tensor<3> embedded(const Tensor<2, Int>& ids, std::int64_t start) const;
};

}  // namespace kiln::models
