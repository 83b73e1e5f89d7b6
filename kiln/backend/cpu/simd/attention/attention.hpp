// Declarations for the kernels of attention, forward and backward. Blocks of scores are stored transposed, with a row
// for each key and a lane for each query: the maximum and the sum of a query are then computed lane by lane, and the
// block of queries is the only operand that has to be transposed.
#pragma once
#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/interval.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"

namespace kiln::cpu::simd {

/// The number of queries and of keys of a block. The scores of a block fit into the first or second level of cache.
inline constexpr std::int64_t kBlockOfQueries = 96, kBlockOfKeys = 96;

/// The least number of multiplications that is worth handing to another thread: about 10 us.
inline constexpr std::int64_t kMinMultiplicationsPerThread = 1 << 19;

/// Rounds `count` elements of T up to whole vectors of any target.
template <class T>
constexpr std::int64_t padded(std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(64 / sizeof(T));
  return (count + lanes - 1) / lanes * lanes;
}

struct AttentionShape {
  std::int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  bool causal;
  std::int64_t window;
  double scale, softcap;  // 0: none

  template <class Op>
  static AttentionShape of(const Op& op, Inputs in) {
    const Shape &q = in[Op::q].shape(), &v = in[Op::v].shape();
    return {q[0],
            q[1],
            v[1],
            q[2],
            v[2],
            q[3],
            v[3],
            op.causal,
            op.window,
            in[Op::scale].scalar().template to<double>(),
            in[Op::softcap].empty() ? 0 : in[Op::softcap].scalar().template to<double>()};
  }

  /// Returns whether `causal` or `window` may hide a key from some query.
  bool may_hide() const { return causal || window > 0; }
  /// The number of heads of q that share one head of k.
  std::int64_t group() const { return heads / kv_heads; }
  /// The window, limited to the number of all keys and queries.
  std::int64_t effective_window() const { return std::min(window, keys + queries); }
  /// Returns the keys that `causal` and `window` let at least one of these queries see.
  Interval keys_of(Interval block) const;
  /// Returns the queries that `causal` and `window` let see a key.
  Interval queries_of(std::int64_t key) const;
};

/// Sets the scores of queries that may not see a key, by `causal` and `window`, to -inf.
template <class T>
void hide_unseen(const AttentionShape& shape, Interval queries, Interval keys, T* scores);

/// The rows of a tensor [batch, heads, time, width] of T, each followed by zeros up to whole vectors. Reads the tensor
/// in place if its layout is of that kind, and copies it otherwise.
template <class T>
class HeadRows {
 public:
  explicit HeadRows(const Value& value);
  const T* at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return data_ + batch * batch_ + head * head_ + row * row_;
  }
  std::int64_t row() const { return row_; }

 private:
  const T* data_;
  std::int64_t batch_, head_, row_;
  Ref<Memory> held_;
};

/// A mask or a bias, broadcast to [batch, heads, queries, keys].
struct ScoreOperand {
  const std::byte* data = nullptr;  // null: absent
  Dims strides = {};

  ScoreOperand() = default;
  ScoreOperand(const Value& value, const AttentionShape& shape);
  std::int64_t offset(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t key) const {
    return batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3];
  }
};

/// The scratch memory of one task, which take() hands out from the front.
class Workspace {
 public:
  explicit Workspace(std::int64_t bytes) : memory_(make_ref<Memory>(static_cast<std::size_t>(bytes))) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* at = memory_->bytes() + used_;
    used_ += padded<T>(count) * static_cast<std::int64_t>(sizeof(T));
    KILN_CHECK(used_ <= static_cast<std::int64_t>(memory_->size()));
    return reinterpret_cast<T*>(at);
  }

 private:
  Ref<Memory> memory_;
  std::int64_t used_ = 0;
};

/// Transposes: z[j * kBlockOfQueries + i] = x[i * row + j] * factor for i < rows, and 0 for further i up to whole
/// vectors.
template <class T>
void transpose_queries(const T* x, std::int64_t row, std::int64_t rows, std::int64_t width, T factor, T* z);

/// The operands of scores, and functions that compute a block of scores from them.
template <class T>
struct ScoreBlocks {
  const AttentionShape& shape;
  HeadRows<T> k;
  ScoreOperand mask, bias;

  template <class Op>
  ScoreBlocks(const Op&, const AttentionShape& shape, Inputs in)
      : shape(shape), k(in[Op::k]), mask(in[Op::mask], shape), bias(in[Op::bias], shape) {}

  /// Returns whether a key may be hidden from some query.
  bool may_hide() const { return shape.may_hide() || mask.data || bias.data; }
  /// Computes scores[(j - keys.begin) * kBlockOfQueries + i - queries.begin] of query i and key j, which are -inf where
  /// the query may not see the key, and the derivatives of the softcap if `slopes` is not null. `transposed` holds the
  /// scaled queries, transposed by transpose_queries().
  void compute(std::int64_t batch, std::int64_t head, Interval queries, Interval keys, const T* transposed, T* scores,
               T* slopes) const;
  /// Computes scores[j - keys.begin] of the single query `q`, which is scaled but not transposed, and fills `scores` up
  /// to whole vectors with -inf.
  void compute_row(std::int64_t batch, std::int64_t head, std::int64_t query, Interval keys, const T* q,
                   T* scores) const;
};

// ---- hidden keys (attention_hidden.cpp) -----------------------------------------------------------------------------
// A weight of 0 times NaN or infinity is NaN, so a product tile lets values that are not finite reach queries that may
// not see them. Results that came out as NaN are therefore computed again: the elements that are not finite are
// replaced by 0 in the product, and are then added only for the queries that see them. All other results
// have the same bits.

template <class T>
bool has_nan(const T* x, std::int64_t count);

/// Sets hidden[i] to whether scores[i] is -inf.
template <class T>
void note_hidden(const T* scores, std::int64_t count, std::uint8_t* hidden);
/// x[i] = 0 where hidden[i].
template <class T>
void clear_hidden(const std::uint8_t* hidden, std::int64_t count, T* x);

/// Copies `from` to `to` with 0 in the place of elements that are not finite. Returns whether there were any.
template <class T>
bool copy_finite(const T* from, std::int64_t count, T* to);

/// The weights of pairs of a key and a query, and whether each pair is hidden. The pairs of neighbouring keys are `key`
/// elements apart and those of neighbouring queries 1; for a single query `key` is 1.
template <class T>
struct PairWeights {
  const T* weights;
  const std::uint8_t* hidden;
  std::int64_t key;
};
/// Adds what copy_finite() left out: sums[to] += weight(to, from) * x[from] for each element of x [count, width] that
/// is not finite, and for each of the `others` rows of sums whose pair with it is not hidden. If `of_keys`, x has a row
/// for each key and sums has one for each query; otherwise x has a row for each query and sums has one for each key.
template <class T>
void add_not_finite(const PairWeights<T>& pairs, bool of_keys, const T* x, std::int64_t row, std::int64_t count,
                    std::int64_t width, T* sums, std::int64_t sums_row, std::int64_t others);

/// A matrix whose element [i, j] is data[i * row + j * column].
template <class T>
struct Strided {
  const T* data;
  std::int64_t row, column;
};
/// Computes c [m, n] = a [m, k] b [k, n], or c += a b if `add`. n is a number of whole vectors.
template <class T>
void multiply_block(Strided<T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row, std::int64_t m,
                    std::int64_t n, std::int64_t k, bool add);

// ---- vectors (attention_blocks.cpp); `lanes` fill whole vectors, and rows are kBlockOfQueries lanes apart -----------

template <class T>
struct AttentionBlocks {
  /// x = cap * tanh(x / cap); also computes the derivative of that if slopes is not null.
  void (*cap)(T* x, T* slopes, std::int64_t rows, std::int64_t lanes, T cap);
  /// Adds the scores of more keys to a running softmax. `largest` and `total` become those of all keys so far, scores
  /// become exp(score - largest), and `rescale` is the factor that sums over earlier keys are to be multiplied by.
  void (*softmax)(T* scores, std::int64_t rows, std::int64_t lanes, T* largest, T* total, T* rescale);
  /// scores = exp(scores - shift[lane])
  void (*exponentiate)(T* scores, std::int64_t rows, std::int64_t lanes, const T* shift);
  /// g = shares * (g - delta[lane])
  void (*score_gradient)(const T* softmax_weights, T* g, std::int64_t rows, std::int64_t lanes, const T* delta);
  /// x *= y
  void (*multiply)(T* x, const T* y, std::int64_t rows, std::int64_t lanes);
  /// `softmax` for the scores of a single query, whose number is that of whole vectors; returns its `rescale`.
  T (*row_softmax)(T* scores, std::int64_t count, T& largest, T& total);
  /// Multiplies row i of the contiguous x [rows, lanes] by factors[i].
  void (*scale_rows)(T* x, std::int64_t rows, std::int64_t lanes, const T* factors);
};

/// Returns the functions for the instruction set of this machine.
template <class T> AttentionBlocks<T> attention_blocks();

}  // namespace kiln::cpu::simd
