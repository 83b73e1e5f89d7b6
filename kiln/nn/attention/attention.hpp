// Scaled dot-product attention over several heads (Vaswani et al., "Attention is all you need", 2017).
//
//   q, k, v = projections of x (and of a context, in cross-attention)
//   q, k    rotated by position, if the module has rotary encoding
//   k, v    appended to a KvCache, if one is given
//   attention(q, k, v): one op, which stores no scores; causal, window, softcap, mask and bias are its options
#pragma once
#include <optional>

#include "kiln/nn/attention/cache.hpp"
#include "kiln/nn/attention/position.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln::nn {

/// What a call says of which keys each query may see. The keys are those of the whole sequence: the cache's, and x's
/// own.
struct AttentionOptions {
  bool causal = false;           // query i sees keys up to i only; the last query is aligned with the last key
  Tensor<2, Bool> padding = {};  // [batch, keys]: true for a real element, tokens.ne(pad); empty: everywhere
  TensorOption mask = {};  // boolean, true where a query may see a key; broadcasts to [batch, heads, queries, keys]
  TensorOption bias = {};  // added to scores; broadcasts in the same way
  Tensor<2, Int> positions =
      {};  // [batch, time]: the positions of x's time steps for rotary encoding; empty: consecutive ones
};

/// x [batch, time, width], the last of the keys that `padding` [batch, keys] describes, where elements that are padding
/// and not finite become 0: otherwise they would reach the gradients of weights. Returns x itself without padding, or
/// if sizes differ.
Tensor<3> without_padding(const Tensor<3>& x, const Tensor<2, Bool>& padding);

/// `heads` heads of queries; keys and values may have fewer heads, each of which serves the same number of neighbouring
/// query heads: as many as key.weight has rows for (Ainslie et al., "GQA", 2023).
struct MultiHeadAttention {
  Linear query;       // width -> heads * head width
  Linear key, value;  // context width -> kv_heads * head width
  Linear output;      // heads * head width -> width
  Dropout dropout;    // applied to the attention weights
  std::int64_t heads = 1;
  bool quiet = false;                         // uses quiet_softmax(): a head may attend to nothing
  bool alibi = false;                         // scores decrease with the distance (Press, Smith, Lewis, 2021)
  double softcap = 0;                         // softcap * tanh(score / softcap); 0: no bound
  std::optional<std::int64_t> window = {};    // a query only sees keys less than this far away
  std::optional<RotaryEncoding> rotary = {};  // applied to queries and keys
  std::optional<double> scale = {};           // factor of scores; default: 1 / sqrt(head width)

  /// Self-attention: x [batch, time, width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const;
  /// Self-attention over the cache's contents and x, which is appended: token by token this gives the same as the whole
  /// sequence at once. Without gradients (under NoGrad, or on a plain device) the memory is updated in place.
  Tensor<3> forward(const Tensor<3>& x, KvCache& cache, const AttentionOptions& options = {.causal = true}) const;
  /// Cross-attention: queries from x [batch, time, width], keys and values from context [batch, other time, context
  /// width]. Throws ArgumentError for a module with rotary encoding or ALiBi: positions in two sequences have no
  /// distance.
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const AttentionOptions& options = {}) const;

  /// An empty cache for `capacity` time steps. With a window shorter than that it is a ring, which has memory for the
  /// window and TensorCache::kStride further time steps.
  KvCache cache(std::int64_t batch, std::int64_t capacity) const;
  /// A context's keys and values, for use in several calls: recall(x, remember(context)) equals forward(x, context).
  KvCache project_context(const Tensor<3>& context) const;
  Tensor<3> cross_attend(const Tensor<3>& x, const KvCache& memory, const AttentionOptions& options = {}) const;
  [[deprecated("remember() is now project_context()")]] KvCache remember(const Tensor<3>& context) const {
    return project_context(context);
  }
  [[deprecated("recall() is now cross_attend()")]] Tensor<3> recall(const Tensor<3>& x, const KvCache& memory,
                                                                    const AttentionOptions& options = {}) const {
    return cross_attend(x, memory, options);
  }

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
  std::int64_t kv_heads = 0;       // number of heads of keys and values; must divide heads; 0: as many as heads
  std::int64_t head_width = 0;     // 0: width / heads
  std::int64_t context_width = 0;  // width of the context in cross-attention; 0: width
  bool quiet = false;
  bool alibi = false;
  double softcap = 0;
  std::optional<std::int64_t> window = {};
  std::optional<RotaryEncodingConfig> rotary = {};
  std::optional<double> scale = {};  // factor of scores; default: 1 / sqrt(head width)

  /// Throws ArgumentError for numbers that do not fit together.
  MultiHeadAttention init(const Device& device) const;
};

}  // namespace kiln::nn
