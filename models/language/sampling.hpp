// Which token comes next: drawn from a language model's logits, one after the other.
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

/// Logits are divided by the temperature, then the k largest are kept, then the likeliest that make up p.
struct Sampling {
  double temperature = 1;  // 0: the likeliest token, and nothing is drawn
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1;
  /// Throws ArgumentError for numbers out of their ranges.
  void check() const;
};

/// logits [batch, tokens] -> the same with -inf for all but the k largest of each row, and what equals the k-th.
Tensor<2> keep_top_k(const Tensor<2>& logits, std::int64_t k);
/// The same with -inf for all but the fewest likeliest tokens whose probabilities add up to p at least, and what equals the
/// last of them (Holtzman et al., "The curious case of neural text degeneration", 2020). One is always kept.
Tensor<2> keep_top_p(const Tensor<2>& logits, double p);
/// logits [batch, tokens] -> tokens [batch]. The key decides what is drawn; without one the device's stream does.
Tensor<1, Int> sample(const Tensor<2>& logits, const Sampling& sampling, RandomKey key = {});

/// How a text goes on.
struct Generation {
  std::int64_t tokens = 100;  // at most so many more
  Sampling sampling = {};
  std::uint64_t seed = 0;                                      // of what is drawn
  std::optional<std::int64_t> stop = {};                       // a row ends with this token
  std::function<void(std::int64_t token)> on_token = nullptr;  // of the first row, as soon as it is known
  /// Throws ArgumentError for numbers out of their ranges.
  void check() const;
};

namespace detail {
/// `next` gives logits [batch, tokens] of what follows the tokens [batch, time] that it is handed after those before.
std::vector<std::vector<std::int64_t>> generate(const Tensor<2, Int>& prompt, const Generation& how,
                                                FunctionRef<Tensor<2>(const Tensor<2, Int>&)> next);
}  // namespace detail

/// prompt [batch, time] -> for each row what comes after it, the stop token left out. The model has a cache(batch, capacity)
/// and a next(tokens, cache). Throws ArgumentError for an empty prompt, or one that does not fit the model's context
/// together with what is to come.
template <class Model>
std::vector<std::vector<std::int64_t>> generate(const Model& model, const Tensor<2, Int>& prompt,
                                                const Generation& how = {}) {
  how.check();
  const NoGrad pause;
  nn::TransformerCache cache = model.cache(prompt.dim(0), prompt.dim(1) + how.tokens);
  return detail::generate(prompt, how, [&](const Tensor<2, Int>& tokens) { return model.next(tokens, cache); });
}

}  // namespace kiln::models
