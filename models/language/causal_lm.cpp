#include "models/language/causal_lm.hpp"

#include "kiln/ops/loss/loss.hpp"

namespace kiln::models {

Tensor<3> CausalLm::embedded(const Tensor<2, Int>& ids, std::int64_t start) const {
  require<ArgumentError>(ids.dim(1) > 0, "a language model needs at least one token");
  require<ArgumentError>(start + ids.dim(1) <= context, start + ids.dim(1),
                         " tokens do not fit the model's context of ", context);
  const Tensor<3> x = tokens.forward(ids);
  return dropout.forward(positions ? positions->forward(x, start) : x);
}

Tensor<3> CausalLm::forward(const Tensor<2, Int>& ids) const {
  return head.forward(decoder.forward(embedded(ids, 0), {.causal = true}));
}

Tensor<3> CausalLm::forward(const Tensor<2, Int>& ids, nn::TransformerCache& cache) const {
  return head.forward(decoder.forward(embedded(ids, cache.length()), cache));
}

Tensor<2> CausalLm::next(const Tensor<2, Int>& ids, nn::TransformerCache& cache) const {
  const Tensor<3> x = decoder.forward(embedded(ids, cache.length()), cache);
  return head.forward(Tensor<2>(at(x.value(), 1, -1)));
}

nn::TransformerCache CausalLm::cache(std::int64_t batch, std::int64_t capacity) const {
  require<ArgumentError>(capacity <= context, capacity, " tokens do not fit the model's context of ", context);
  return decoder.cache(batch, capacity);
}

Tensor<0> CausalLm::loss(const Tensor<2, Int>& ids, const Tensor<2, Int>& targets) const {
  const Value logits = forward(ids).value();
  return Typed{cross_entropy(flatten(logits, 0, 1), flatten(targets.value(), 0, 1), {}, Reduction::Mean)};
}

}  // namespace kiln::models
