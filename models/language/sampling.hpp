// Samples tokens from the logits of a language model, one after the other.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/nn/attention/cache.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/random.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::models {

/// Logits are divided by the temperature, then the k largest are kept, then the most likely ones whose probabilities
/// add up to p.
struct Sampling {
  double temperature = 1;  // 0: the most likely token, without randomness
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1;
  /// Throws ArgumentError for numbers out of their ranges.
  void check() const;
};

/// logits [batch, tokens] -> the logits with -inf for all but the k largest of each row. Ties with the k-th are kept.
Tensor<2> keep_top_k(const Tensor<2>& logits, std::int64_t k);
/// Returns the logits with -inf for all but the smallest set of the most likely tokens whose probabilities add up to at
/// least p (Holtzman et al., "The curious case of neural text degeneration", 2020). Ties with the last of them are
/// kept, and at least one token always is.
Tensor<2> keep_top_p(const Tensor<2>& logits, double p);
/// logits [batch, tokens] -> tokens [batch]. The key determines the sample; without one the device's stream does.
Tensor<1, Int> sample(const Tensor<2>& logits, const Sampling& sampling, RandomKey key = {});

/// Options of the generation of text.
struct Generation {
  std::int64_t tokens = 100;  // the most tokens to add
  Sampling sampling = {};
  std::uint64_t seed = 0;                 // seed of the samples
  std::optional<std::int64_t> stop = {};  // ends a row
  // Called for each token of the first row as soon as it is known.
  std::function<void(std::int64_t token)> on_token = nullptr;
  /// Throws ArgumentError for numbers out of their ranges.
  void check() const;
};

namespace detail {
/// `next` returns logits [batch, tokens] of what follows the tokens [batch, time], which come after those of earlier
/// calls.
std::vector<std::vector<std::int64_t>> generate(const Tensor<2, Int>& prompt, const Generation& how,
                                                FunctionRef<Tensor<2>(const Tensor<2, Int>&)> next);
}  // namespace detail

/// prompt [batch, time] -> the tokens that follow in each row, without the stop token. The model has a cache(batch,
/// capacity) and a next(tokens, cache). Throws ArgumentError for an empty prompt, or if the prompt and the new tokens
/// do not fit the model's context.
template <class Model>
std::vector<std::vector<std::int64_t>> generate(const Model& model, const Tensor<2, Int>& prompt,
                                                const Generation& how = {}) {
  how.check();
  const NoGrad pause;
  nn::TransformerCache cache = model.cache(prompt.dim(0), prompt.dim(1) + how.tokens);
  return detail::generate(prompt, how, [&](const Tensor<2, Int>& tokens) { return model.next(tokens, cache); });
}

}  // namespace kiln::models
