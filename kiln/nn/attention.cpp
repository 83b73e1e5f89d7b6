#include "kiln/nn/attention.hpp"

#include <cmath>
#include <limits>

namespace kiln::nn {
namespace {

/// [batch, time, width] -> [batch, heads, time, width / heads]
Value split_heads(const Tensor<3>& x, std::int64_t heads) {
  const auto [batch, time, width] = x.dims();
  return permute(reshape(x, {batch, time, heads, width / heads}), {0, 2, 1, 3});
}

/// True where query i may see key j: [queries, keys], aligned at the end.
Value causal_mask(std::int64_t queries, std::int64_t keys, const Device& device) {
  const Value i = unsqueeze(arange(keys - queries, keys, 1, device), 1), j = arange(0, keys, 1, device);
  return le(j, i);
}

}  // namespace

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, const Tensor<3>& context,
                                      const AttentionOptions& options) const {
  const Value q = split_heads(query.forward(x), heads);
  const Value k = split_heads(key.forward(context), heads), v = split_heads(value.forward(context), heads);
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(-1)));
  Value scores = matmul(q * scale, transpose(k));  // [batch, heads, time, other time]
  if (options.causal)
    scores = where(causal_mask(x.dim(1), context.dim(1), x.device()), scores, -std::numeric_limits<double>::infinity());
  const Tensor<4> weights = dropout.forward(Tensor<4>(softmax(scores, -1)));
  const Value mixed = permute(matmul(weights, v), {0, 2, 1, 3});
  return output.forward(Tensor<3>(reshape(mixed, x.shape())));
}

MultiHeadAttention MultiHeadAttentionConfig::init(const Device& device) const {
  require<ArgumentError>(width > 0 && heads > 0 && width % heads == 0, "MultiHeadAttentionConfig: ", heads,
                         " heads do not divide a width of ", width);
  const LinearConfig projection{.in = width, .out = width, .bias = bias, .initializer = initializer};
  return {.query = projection.init(device),
          .key = projection.init(device),
          .value = projection.init(device),
          .output = projection.init(device),
          .dropout = {.probability = dropout},
          .heads = heads};
}

}  // namespace kiln::nn
