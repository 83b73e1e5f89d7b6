// Scaled dot-product attention over several heads (Vaswani et al., "Attention is all you need", 2017).
#pragma once
#include "kiln/nn/dropout.hpp"
#include "kiln/nn/linear.hpp"

namespace kiln::nn {

struct AttentionOptions {
  bool causal = false;  // position i sees positions up to i alone
};

struct MultiHeadAttention {
  Linear query, key, value, output;  // width -> width
  Dropout dropout;                   // of the attention's weights
  std::int64_t heads = 1;

  /// Self-attention: x [batch, time, width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const { return forward(x, x, options); }
  /// x [batch, time, width] asks, context [batch, other time, width] answers.
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const AttentionOptions& options = {}) const;
};

struct MultiHeadAttentionConfig {
  std::int64_t width;
  std::int64_t heads = 1;  // must divide the width
  double dropout = 0;
  bool bias = true;
  Initializer initializer = init::XavierUniform{};
  MultiHeadAttention init(const Device& device) const;
};

}  // namespace kiln::nn
