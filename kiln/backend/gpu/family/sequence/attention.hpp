// What the kernels of attention without a score matrix (Dao et al., "FlashAttention", 2022) have in common. Blocks take
// tiles of queries and keys, and recompute their scores wherever they are needed.
#pragma once
#include <array>
#include <functional>

#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/product/product.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"

namespace kiln::gpu::family {

/// All that a kernel is specialized for.
struct AttentionKey {
  DType dtype, index;
  bool causal, windowed, capped, masked, biased;
  bool fragments;      // products by tensor cores
  int matrix_rows;     // Tile::matrix_rows
  int depth;           // of the tiles of queries and keys, whose products are scores
  int stages = 2;      // Tile::stages of those
  bool words = false;  // q, k and v are loaded as words of two halves
};

/// An operand [batch, heads, time, width]: its memory and strides in a kernel.
struct Sequence {
  Buffer buffer;
  std::array<Expr, 4> strides{};
  Expr start(const Expr& batch, const Expr& head) const { return batch * strides[0] + head * strides[1]; }
  Factor by_width(const Loading& loading, const Expr& start, const Expr& first, const Expr& times) const {
    return factor_of(buffer, loading, start, first, times, strides[2], strides[3]);
  }
  /// Returns by_time()'s factor, in which elements that are not finite count as 0.
  Factor finite_by_time(const Loading& loading, const Expr& start, const Expr& first, const Expr& width) const {
    Factor made = by_time(loading, start, first, width);
    made.finite_alone = true;
    return made;
  }
  /// A right factor whose depth is time.
  Factor by_time(const Loading& loading, const Expr& start, const Expr& first, const Expr& width) const {
    return factor_of(buffer, loading, start, first, width, strides[3], strides[2]);
  }
};

/// The parameters of all kernels: q, k, v, mask and bias (if present), then numbers.
class AttentionParameters {
 public:
  AttentionParameters(Builder& k, const AttentionKey& key);
  static void append(std::vector<Argument>& arguments, const Call& call, std::int64_t window);
  /// Adds a further sequence, after those.
  enum class Use : std::uint8_t { Read, Written, Both };
  Sequence sequence(Use use = Use::Read) { return sequence(use, key.dtype); }
  /// One that is a factor, in words where AttentionKey::words says so.
  Sequence factor() { return sequence(Use::Read, key.words ? DType::U32 : key.dtype); }
  static void append(std::vector<Argument>& arguments, const Array& sequence);

  /// The score of a query and a key whose product is `dot`: -inf if the query may not see the key, or there is no such
  /// key; and the derivative of the cap, if there is one.
  struct Score {
    Expr score, slope;
  };
  /// Do both exist, and may the query see the key?
  Expr sees(const Expr& batch, const Expr& head, const Expr& query, const Expr& key) const;
  Score score(const Expr& batch, const Expr& head, const Expr& query, const Expr& key, const Expr& dot) const;
  /// The score of a key that is not hidden, without bias.
  Score shown_score(const Expr& dot) const;
  /// Is the key visible as far as causal and window decide, and do both exist?
  Expr in_reach(const Expr& query, const Expr& key) const;
  /// The range of keys that one of these queries may see, all within [begin, end); or of queries that may see one of
  /// these keys.
  struct Range {
    Expr begin, end;
  };
  Range keys_of(const Expr& first_query, int count) const;
  Range queries_of(const Expr& first_key, int count) const;

  const AttentionKey key;
  const DType type;  // in which scores are computed
  Sequence q, k, v, mask, bias;
  Expr heads, shared, queries, keys, width, values, window;  // `shared` heads of q use the same head of k
  Expr scale, cap;

 private:
  Sequence sequence(Use use, DType dtype);

  Builder& builder_;
};

/// Queries and keys per tile, the depth of their tiles (AttentionKey::depth), and the most columns that a block
/// computes of a result.
struct AttentionTiles {
  int side, depth, columns;
};
/// The largest for which the device has the shared memory.
AttentionTiles attention_tiles(const Gpu& gpu, DType dtype, bool fragments);
/// Columns that a block computes of a result of width `width`.
int attention_columns(const AttentionTiles& tiles, std::int64_t width);
/// A tile of scores, `rows` x `columns`; and a tile of results, to which scores are a factor, whose threads have the
/// same rows.
Tile score_tile(const AttentionKey& key, int rows, int columns);
Tile result_tile(const AttentionKey& key, int rows, int columns);
Loading load_width(const Array& sequence);
Loading load_time(const Array& sequence);
/// A kernel's choices, which all give the same bits: the rows of a block's tile of scores, and the depth and the stages
/// of the tiles of queries and keys.
struct AttentionWay {
  int rows, depth, stages = 2;
  bool operator==(const AttentionWay&) const = default;
};
inline AttentionKey by(AttentionKey key, const AttentionWay& way) {
  key.depth = way.depth;
  key.stages = way.stages;
  return key;
}
/// The kernel that a way is chosen for: it is over `rows` rows of all heads, queries or, for the gradient of keys and
/// values, keys, and as many `columns`.
struct AttentionWork {
  enum class Kind : std::uint8_t { Forward, QueryGrad, KeyGrad, Matrices } kind;  // Matrices: MatrixAttentionKernel
  AttentionKey key;
  std::int64_t heads, rows, columns, width, values;
  Loading q, k, v;
};
/// The way to take in place of `first`: the quickest that is known (Choices). run(way) launches the kernel.
const AttentionWay& chosen_way(Gpu& gpu, const AttentionWork& work, const AttentionWay& first,
                               FunctionRef<void(const AttentionWay&)> run);
AttentionKey attention_key(const Gpu& gpu, const Call& call, bool causal, std::int64_t window,
                           std::initializer_list<Array> others);

/// Computes by the device's library if it supports such attention; else returns false, and the results are undefined.
/// Results are those of the ops, in their own memory.
bool attend(Gpu& gpu, const op::Attention& op, const Call& call, const Array& out, const Array& log_sum);
bool attend(Gpu& gpu, const op::AttentionGrad& op, const Call& call, const Array& log_sum, std::span<const Array> made);

// ---- hidden keys ----------------------------------------------------------------------------------------------------
// 0 times NaN or infinity is NaN: products of tiles, ours and a library's, pass values that a query may not see on to
// it. So each kernel is followed by a second one, whose blocks look for NaN in their results, and recompute those with
// finite factors only; the elements that are not finite are then added where they are visible. All other results are
// the same, bit for bit, as if hidden elements were 0.

/// May a key be hidden from some query of this call?
bool hides(const AttentionKey& key, const Call& call);

/// The part of a sequence [time, width] that a tile's result belongs to.
struct Window {
  Expr start, first, times, first_column, width;
};
/// A result of a block: the part of a sequence that `rows` rows and `columns` columns lie in.
struct Made {
  const Sequence& to;
  Window part;
  int rows, columns;
};
/// `then`, for all threads of the block, if any of its results is NaN. All threads must get here.
void when_spoilt(Builder& b, std::initializer_list<Made> results, FunctionRef<void()> then);

struct Weights;
/// Adds weight * x to the sums, for elements of x that a factor with `finite_alone` left out, of times [begin, end),
/// which are the weights' columns, and for rows that may see them. Ends with a barrier.
void add_not_finite(Builder& b, const TileProduct& result, const Weights& weights, const Sequence& x,
                    const Window& window, const Expr& begin, const Expr& end,
                    const std::function<Expr(const Expr& row, const Expr& time)>& sees);

/// Combines x of the threads that have sums of the same rows.
Expr fold_row(Builder& k, const Tile& tile, Expr x, Combine combine);

/// Shared memory that makes a tile of scores a left factor, whose depth is the tile's columns.
struct Weights {
  Weights(Builder& k, DType dtype, const Tile& scores) : resident(k, scores, dtype, scores.columns) {}
  void store(const TileProduct& scores, int i, int j, const Expr& weight) const;
  Resident resident;
};

}  // namespace kiln::gpu::family
