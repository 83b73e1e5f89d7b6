#include "kiln/nn/attention.hpp"

#include <cmath>
#include <limits>

#include "kiln/ops/sequence/attention.hpp"

namespace kiln::nn {
namespace {

/// [batch, time, width] -> [batch, heads, time, width / heads]
Value split_heads(const Tensor<3>& x, std::int64_t heads) {
  const auto [batch, time, width] = x.dims();
  return permute(reshape(x.value(), {batch, time, heads, width / heads}), {0, 2, 1, 3});
}

}  // namespace

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, const Tensor<3>& context,
                                      const AttentionOptions& options) const {
  const Value q = split_heads(query.forward(x), heads);
  const Value k = split_heads(key.forward(context), heads), v = split_heads(value.forward(context), heads);
  const auto merge_heads = [&](const Value& mixed) {
    return output.forward(Tensor<3>(reshape(permute(mixed, {0, 2, 1, 3}), x.shape())));
  };
  if (dropout.mode == Mode::Valid || dropout.probability == 0)
    return merge_heads(kiln::attention(q, k, v, {.causal = options.causal}));

  // Dropout is of the weights, which attention() never holds.
  Value scores = matmul(q * (1 / std::sqrt(static_cast<double>(q.dim(-1)))), transpose(k));
  if (options.causal)
    scores =
        where(causal_mask({x.dim(1), context.dim(1)}, x.device()), scores, -std::numeric_limits<double>::infinity());
  return merge_heads(matmul(dropout.forward(Tensor<4>(softmax(scores, -1))).value(), v));
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
