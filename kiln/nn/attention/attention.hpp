// Scaled dot-product attention over several heads (Vaswani et al., "Attention is all you need", 2017).
//
//   q, k, v = projections of x (and of a context, where x asks something else than itself)
//   q, k    turned by rotary encoding, if the module has one
//   k, v    appended to a KvCache, if one is given
//   attention(q, k, v): one op, which holds no scores; causal, window, softcap, mask and bias are its own
#pragma once
#include <optional>

#include "kiln/nn/attention/cache.hpp"
#include "kiln/nn/attention/position.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln::nn {

/// What a call says of who may look at whom. Keys are all there are: those of a cache, and x's own.
struct AttentionOptions {
  bool causal = false;           // position i sees positions up to i alone; the last query stands at the last key
  Tensor<2, Bool> padding = {};  // [batch, keys]: true where there is an element, tokens.ne(pad); none: everywhere
  TensorOption mask = {};  // boolean, true where a query may see a key; broadcasts to [batch, heads, queries, keys]
  TensorOption bias = {};  // added to scores; broadcasts likewise
  Tensor<2, Int> positions =
      {};  // [batch, time]: where x's moments stand for rotary encoding; none: one after the other
};

/// x [batch, time, width], the last of the keys that `padding` [batch, keys] speaks of, with 0 for what is not finite where
/// there is no element: 0 times that would reach the gradients of weights. x itself without padding, or one of other sizes.
Tensor<3> without_padding(const Tensor<3>& x, const Tensor<2, Bool>& padding);

/// `heads` of them ask; keys and values may have fewer heads, each of which serves the same number of neighbours: as many
/// as key.weight has room for (Ainslie et al., "GQA", 2023).
struct MultiHeadAttention {
  Linear query;       // width -> heads * head width
  Linear key, value;  // context width -> kv_heads * head width
  Linear output;      // heads * head width -> width
  Dropout dropout;    // of the attention's weights
  std::int64_t heads = 1;
  bool quiet = false;                         // quiet_softmax(): a head may look at nothing
  bool alibi = false;                         // scores fall with the distance (Press, Smith, Lewis, 2021)
  double softcap = 0;                         // softcap * tanh(score / softcap); 0: no bound
  std::optional<std::int64_t> window = {};    // a query sees keys less than this far away alone
  std::optional<RotaryEncoding> rotary = {};  // of queries and keys
  std::optional<double> scale = {};           // of scores; 1 / sqrt(head width) where left out

  /// Self-attention: x [batch, time, width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const;
  /// Self-attention that looks back on what the cache holds, to which x is added: token by token it is what the whole
  /// sequence gives at once. Without a gradient (under NoGrad, or on a plain device) memory stays what it is.
  Tensor<3> forward(const Tensor<3>& x, KvCache& cache, const AttentionOptions& options = {.causal = true}) const;
  /// x [batch, time, width] asks, context [batch, other time, context width] answers. Throws ArgumentError for a module
  /// with rotary encoding or ALiBi: positions in two sequences have no distance.
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const AttentionOptions& options = {}) const;

  /// An empty cache for so many moments. With a window shorter than that it is a ring, which has memory for the window and
  /// TensorCache::kStride moments more.
  KvCache cache(std::int64_t batch, std::int64_t capacity) const;
  /// A context's keys and values, to be asked many times: recall(x, remember(context)) is forward(x, context).
  KvCache remember(const Tensor<3>& context) const;
  Tensor<3> recall(const Tensor<3>& x, const KvCache& memory, const AttentionOptions& options = {}) const;

 private:
  Tensor<3> attend(const Value& q, const Value& k, const Value& v, const AttentionOptions& options,
                   std::optional<std::int64_t> seen) const;
};

struct MultiHeadAttentionConfig {
  std::int64_t width;
  std::int64_t heads = 1;  // must divide the width, unless head_width is given
  double dropout = 0;
  bool bias = true;
  Initializer initializer = init::XavierUniform{};
  std::int64_t kv_heads = 0;       // of keys and values; must divide heads; 0: as many
  std::int64_t head_width = 0;     // 0: width / heads
  std::int64_t context_width = 0;  // of what is asked in cross attention; 0: width
  bool quiet = false;
  bool alibi = false;
  double softcap = 0;
  std::optional<std::int64_t> window = {};
  std::optional<RotaryEncodingConfig> rotary = {};
  std::optional<double> scale = {};  // of scores; 1 / sqrt(head width) where left out

  /// Throws ArgumentError for numbers that do not go together.
  MultiHeadAttention init(const Device& device) const;
};

}  // namespace kiln::nn
