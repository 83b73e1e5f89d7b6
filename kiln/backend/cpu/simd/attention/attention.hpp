// What the kernels of attention in both directions share. Blocks of scores are held transposed, a row for each key and
// a lane for each query: then a query's maximum and sum are taken lane by lane, and no operand but the block of queries
// has to be turned.
#pragma once
#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/interval.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"

namespace kiln::cpu::simd {

/// Queries and keys of a block: scores of a block lie in the first or second level of cache.
inline constexpr std::int64_t kBlockOfQueries = 96, kBlockOfKeys = 96;

/// Multiplications that are worth handing to another thread: some 10 us.
inline constexpr std::int64_t kWorthAThread = 1 << 19;

/// `count` elements of T rounded up to whole vectors of any target.
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

  /// May causal or window hide a key from some query?
  bool hides() const { return causal || window > 0; }
  /// How many heads of q share one of k.
  std::int64_t group() const { return heads / kv_heads; }
  /// The window; where it is larger than all that there is, as much as that.
  std::int64_t reach() const { return std::min(window, keys + queries); }
  /// The keys that some of these queries may see, as far as causal and window go.
  Interval keys_of(Interval block) const;
  /// The queries that may see a key.
  Interval queries_of(std::int64_t key) const;
};

/// Scores of queries that may not see a key, as far as causal and window go, become -inf.
template <class T>
void hide_unseen(const AttentionShape& shape, Interval queries, Interval keys, T* scores);

/// A tensor [batch, heads, time, width] as T, its rows followed by zeros up to whole vectors; in place where it can be.
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

/// Mask or bias, broadcast to [batch, heads, queries, keys].
struct ScoreOperand {
  const std::byte* data = nullptr;  // null: absent
  Dims strides = {};

  ScoreOperand() = default;
  ScoreOperand(const Value& value, const AttentionShape& shape);
  std::int64_t offset(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t key) const {
    return batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3];
  }
};

/// Working memory of one piece of work, handed out from the front.
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

/// z[j * kBlockOfQueries + i] = x[i * row + j] * factor for i < rows, and 0 for i up to whole vectors.
template <class T>
void turn_queries(const T* x, std::int64_t row, std::int64_t rows, std::int64_t width, T factor, T* z);

/// The operands of a score, and how a block of scores comes about.
template <class T>
struct ScoreBlocks {
  const AttentionShape& shape;
  HeadRows<T> k;
  ScoreOperand mask, bias;

  template <class Op>
  ScoreBlocks(const Op&, const AttentionShape& shape, Inputs in)
      : shape(shape), k(in[Op::k]), mask(in[Op::mask], shape), bias(in[Op::bias], shape) {}

  /// May a key be hidden from some query?
  bool hides() const { return shape.hides() || mask.data || bias.data; }
  /// scores[(j - keys.begin) * kBlockOfQueries + i - queries.begin], -inf where a query may not see a key; also the
  /// derivative of the softcap where `slopes` is given. `turned` holds the queries, scaled.
  void compute(std::int64_t batch, std::int64_t head, Interval queries, Interval keys, const T* turned, T* scores,
               T* slopes) const;
  /// The same of a single query, which is scaled but not turned: scores[j - keys.begin], and -inf up to whole vectors.
  void compute_row(std::int64_t batch, std::int64_t head, std::int64_t query, Interval keys, const T* q,
                   T* scores) const;
};

// ---- what is hidden (attention_hidden.cpp) ----------------------------------------------------------------------------
// A share of 0 times what is no number is no number: tiles of products hand on to a query what it may not see. So results
// that came out as NaN are computed again with factors whose elements that are not finite are 0, and those elements are
// added for whom they are visible. All others are the same bits.

template <class T>
bool has_nan(const T* x, std::int64_t count);

/// hidden[i] = is scores[i] -inf?
template <class T>
void note_hidden(const T* scores, std::int64_t count, std::uint8_t* hidden);
/// x[i] = 0 where hidden[i].
template <class T>
void clear_hidden(const std::uint8_t* hidden, std::int64_t count, T* x);

/// to = from, with 0 for what is not finite; false where that is nothing.
template <class T>
bool copy_finite(const T* from, std::int64_t count, T* to);

/// Weights of pairs of a key and a query, `key` apart for the next key and side by side for the next query (of one query:
/// for the next key), and which of them are hidden.
template <class T>
struct PairWeights {
  const T* weights;
  const std::uint8_t* hidden;
  std::int64_t key;
};
/// What copy_finite() left out: sums[to] += weight(to, from) * x[from] for each element of x [count, width] that is not
/// finite and all `others` that are not hidden from it. x has a row for each key, and sums for each query (`of_keys`), or
/// the other way round.
template <class T>
void add_not_finite(const PairWeights<T>& pairs, bool of_keys, const T* x, std::int64_t row, std::int64_t count,
                    std::int64_t width, T* sums, std::int64_t sums_row, std::int64_t others);

// ---- vectors (attention_blocks.cpp); lanes are whole vectors, a block has kBlockOfQueries lanes a row -----------------

/// Element [i, j] of a matrix lies at data[i * row + j * column].
template <class T>
struct Strided {
  const T* data;
  std::int64_t row, column;
};

template <class T>
struct AttentionBlocks {
  /// c [m, n] = a [m, k] b [k, n], added to what c holds where `add`. n is whole vectors.
  void (*product)(Strided<T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row, std::int64_t m,
                  std::int64_t n, std::int64_t k, bool add);
  /// x = cap * tanh(x / cap), and its derivative where slopes is given.
  void (*cap)(T* x, T* slopes, std::int64_t rows, std::int64_t lanes, T cap);
  /// Takes the scores of more keys into a running softmax: largest and total are those of all keys so far, scores
  /// become exp(score - largest), and rescale is what earlier ones are to be multiplied by.
  void (*softmax)(T* scores, std::int64_t rows, std::int64_t lanes, T* largest, T* total, T* rescale);
  /// scores = exp(scores - shift[lane])
  void (*exponentiate)(T* scores, std::int64_t rows, std::int64_t lanes, const T* shift);
  /// g = shares * (g - delta[lane])
  void (*score_gradient)(const T* shares, T* g, std::int64_t rows, std::int64_t lanes, const T* delta);
  /// x *= y
  void (*multiply)(T* x, const T* y, std::int64_t rows, std::int64_t lanes);
  /// scores[i] = q . row i of keys [count, width], for i < count: of a single query, whose scores lie side by side.
  void (*row_scores)(const T* q, const T* keys, std::int64_t row, T* scores, std::int64_t count, std::int64_t width);
  /// `softmax` of a single query's scores, which are whole vectors; returns its `rescale`.
  T (*row_softmax)(T* scores, std::int64_t count, T& largest, T& total);
  /// Row i of x [rows, lanes], without gaps, times factors[i].
  void (*scale_rows)(T* x, std::int64_t rows, std::int64_t lanes, const T* factors);
};

/// For the machine at hand.
template <class T> AttentionBlocks<T> attention_blocks();

}  // namespace kiln::cpu::simd
