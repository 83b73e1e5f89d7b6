// op::Attention of halves by matrices that warps hold (Builder::matrix). A warp has 16 queries, or twice that, and all keys
// of a tile: its scores and its results stay in its matrices. Which thread holds which of their elements is the device's own
// affair. So scores pass through shared memory to two threads for each query, which give back the weights of the softmax as
// halves, and a matrix of constant rows by which the results so far are multiplied.
#include "kiln/backend/gpu/family/sequence/attention_matrices.hpp"

#include <algorithm>
#include <limits>

namespace kiln::gpu::family {
namespace {

using Use = Matrix::Use;

constexpr int kKeys = MatrixAttentionKernel::kKeys, kWarps = MatrixAttentionKernel::kWarps;
// Queries that a warp weighs at once; and the columns that a thread has of one of them: every other group of kVector.
constexpr int kRows = 16, kVector = 4, kOwn = kKeys / 2;
// How far rows of scores and of weights are apart in shared memory: neighbouring threads read from different banks.
constexpr int kStride = kKeys + 8;

/// Loads keys and, in place of keys, queries: all of their width at once.
Tile tile_of(const MatrixAttentionKernel& of, int depth) {
  return {of.rows, kKeys, depth, of.rows / (kWarps * 8), kKeys / 4, true, of.key.matrix_rows, 1};
}

int factor_elements(const MatrixAttentionKernel& of) {
  return std::max(TileSide::elements(tile_of(of, of.depth), kKeys, of.k.along_depth),
                  TileSide::elements(tile_of(of, kKeys), of.columns, of.v.along_depth));
}

/// The matrices of a warp.
struct Matrices {
  Matrices(Builder& b, const MatrixAttentionKernel& of) {
    const Fragment shape{of.key.matrix_rows, kMatrixSide, kMatrixSide, of.key.dtype, DType::F32};
    const auto take = [&](std::vector<Matrix>& to, Use use, int count) {
      for (int i = 0; i < count; ++i) to.push_back(b.matrix(use, shape));
    };
    rows = of.groups() * kRows / shape.m;
    take(queries, Use::Left, rows * (of.depth / kMatrixSide));
    take(scores, Use::Sums, rows * (kKeys / kMatrixSide));
    take(results, Use::Sums, rows * (of.columns / kMatrixSide));
    take(left, Use::Left, rows);
    take(right, Use::Right, 1);
    take(factor, Use::Sums, 1);
  }
  int rows;  // of matrices
  std::vector<Matrix> queries, scores, results, left, right, factor;
};

/// Builds the kernel.
class Attending {
 public:
  Attending(Builder& builder, const MatrixAttentionKernel& kernel)
      : b(builder),
        of(kernel),
        p(builder, kernel.key),
        out(p.sequence(of.again ? AttentionParameters::Use::Both : AttentionParameters::Use::Written)),
        log_sum(b.output(p.type)),
        query_tiles(b.number(of.key.index)),
        chunks(b.number(of.key.index)),
        factors(b.shared(of.key.words ? DType::U32 : of.key.dtype, factor_elements(of) / each())),
        scores(b.shared(p.type, std::int64_t{kWarps} * kRows * kStride)),
        weights(b.shared(of.key.dtype, std::int64_t{of.groups()} * kWarps * kRows * kStride)),
        matrices(b, of),
        greatest(b.local(p.type, of.groups())),
        total(b.local(p.type, of.groups())),
        row(b.local(p.type, kOwn)),
        extra(b.local(p.type, of.again ? std::int64_t{of.groups()} * of.columns / 2 : 1)),
        zero(b.literal(p.type, 0)),
        never(b.literal(p.type, -std::numeric_limits<double>::infinity())),
        warp_scores(b.warp() * (kRows * kStride)),
        own_row(b.lane() / 2),
        half(b.lane() % 2) {
    const Expr block = b.block().as(of.key.index), rest = block / query_tiles;
    // Later queries see more keys if attention is causal: their blocks begin first.
    first = (query_tiles - 1 - block % query_tiles) * of.rows;
    chunk = rest % chunks;
    first_value = chunk * of.columns;
    head = rest / chunks % p.heads;
    batch = rest / chunks / p.heads;
    kv_head = head / p.shared;
  }

  void write() {
    clear();
    const Expr wanted = of.again ? is_spoilt() : b.boolean(true), none = b.literal(of.key.index, 0);
    const AttentionParameters::Range range = p.keys_of(first, of.rows);
    load_queries();
    go_over_keys(range.begin / kKeys * kKeys, select(wanted, range.end, none));
    store_results(wanted);
    store_sums(wanted);
  }

 private:
  int each() const { return of.key.words ? 2 : 1; }
  int tall() const { return kRows / of.key.matrix_rows; }
  /// The query of this thread in group g.
  Expr query(int g) const { return first + (b.warp() * kRows + own_row + g * kWarps * kRows).as(of.key.index); }
  /// The thread's column number i of those that pass through the memory of scores.
  Expr column(int i) const { return half * kVector + (i / kVector * 2 * kVector + i % kVector); }
  Expr own_scores() const { return warp_scores + own_row * kStride; }
  Expr own_weights(int g) const { return warp_scores + own_row * kStride + g * (kWarps * kRows * kStride); }

  void clear() {
    for (int g = 0; g < of.groups(); ++g) {
      greatest.set(g, never);
      total.set(g, zero);
    }
    for (const Matrix& result : matrices.results) result.clear();
    for (int i = 0; of.again && i < of.groups() * of.columns / 2; ++i) extra.set(i, zero);
  }

  void load_queries() {
    TileSide side(b, tile_of(of, of.depth), kKeys, of.key.dtype, each(), of.k.along_depth, factors);
    const Expr none = b.literal(of.key.index, 0), turn = b.literal(DType::I32, 0);
    for (int g = 0; g < of.groups(); ++g) {
      const Factor queries = p.q.by_width(of.q, p.q.start(batch, head), first + g * kWarps * kRows, p.queries);
      side.begin(queries);
      side.load(none, p.width, 0);
      side.store(turn, 0);
      b.barrier();
      const int deep = of.depth / kMatrixSide;
      for (int i = 0; i < tall(); ++i)
        for (int j = 0; j < deep; ++j)
          load_matrix(matrices.queries[static_cast<std::size_t>((g * tall() + i) * deep + j)], side.held_at(turn),
                      b.warp() * kRows + i * of.key.matrix_rows, j * kMatrixSide, true);
      b.barrier();
    }
  }

  /// Keys, and then values, of a tile lie in the same memory. They are loaded before they are needed: the values while scores
  /// are computed, the keys of the next tile until that begins.
  void go_over_keys(const Expr& from, const Expr& last) {
    TileSide keys(b, tile_of(of, of.depth), kKeys, of.key.dtype, each(), of.k.along_depth, factors);
    TileSide values(b, tile_of(of, kKeys), of.columns, of.key.dtype, each(), of.v.along_depth, factors);
    const Expr none = b.literal(of.key.index, 0), turn = b.literal(DType::I32, 0);
    Factor of_values = p.v.by_time(of.v, p.v.start(batch, kv_head), first_value, p.values);
    of_values.finite_alone = of.again;
    values.begin(of_values);
    const auto load_keys = [&](const Expr& first_key) {
      const Factor of_keys = p.k.by_width(of.k, p.k.start(batch, kv_head), first_key, p.keys);
      keys.begin(of_keys);
      keys.load(none, p.width, 0);
    };
    load_keys(from);
    b.loop(from, last, b.literal(of.key.index, kKeys), [&](const Expr& first_key) {
      const Expr end = min(first_key + kKeys, p.keys);
      keys.store(turn, 0);
      b.barrier();
      values.load(first_key, end, 0);
      load_keys(first_key + kKeys);
      multiply_keys(keys.held_at(turn));
      for (int g = 0; g < of.groups(); ++g) {
        if (g > 0) b.barrier();
        give_scores(g);
        b.barrier();
        if (g == 0) values.store(turn, 0);
        weigh(g, first_key);
        b.barrier();
        scale_results(g);
      }
      multiply_values(values.held_at(turn));
      if (of.again) add_hidden(first_key, end);
      b.barrier();
    });
  }

  void multiply_keys(const HeldFactor& keys) {
    for (const Matrix& each : matrices.scores) each.clear();
    const int deep = of.depth / kMatrixSide, wide = kKeys / kMatrixSide;
    const Matrix& right = matrices.right[0];
    for (int at = 0; at < deep; ++at)
      for (int j = 0; j < wide; ++j) {
        load_matrix(right, keys, b.literal(DType::I32, j * kMatrixSide), at * kMatrixSide, false);
        for (int i = 0; i < matrices.rows; ++i)
          matrices.scores[static_cast<std::size_t>(i * wide + j)].add_product(
              matrices.queries[static_cast<std::size_t>(i * deep + at)], right);
      }
  }

  void give_scores(int g) {
    constexpr int kWide = kKeys / kMatrixSide;
    for (int i = 0; i < tall(); ++i)
      for (int j = 0; j < kWide; ++j)
        matrices.scores[static_cast<std::size_t>((g * tall() + i) * kWide + j)].store(
            scores, warp_scores + (i * of.key.matrix_rows * kStride + j * kMatrixSide), kStride);
  }

  /// Sets `row` to the thread's scores, -inf where the key is hidden.
  void take_scores(int g, const Expr& first_key) {
    const Expr at_query = query(g);
    const auto key_at = [&](int i) { return first_key + column(i).as(of.key.index); };
    const AttentionKey& key = of.key;
    const bool by_element = key.masked || key.biased || key.windowed;
    for (int i = 0; i < kOwn; i += kVector) {
      const std::vector<Expr> dots = scores.load(own_scores() + column(i), kVector);
      for (int j = 0; j < kVector; ++j) {
        const Expr& dot = dots[static_cast<std::size_t>(j)];
        row.set(i + j,
                by_element ? p.score(batch, head, at_query, key_at(i + j), dot).score : p.shown_score(dot).score);
      }
    }
    if (by_element) return;
    // Most tiles have nothing to hide.
    Expr hides = first_key + kKeys > p.keys;
    if (key.causal) hides = hides | (first_key + (kKeys - 1) > first + g * (kWarps * kRows) + (p.keys - p.queries));
    b.when(hides, [&] {
      for (int i = 0; i < kOwn; ++i) row.set(i, select(p.in_reach(at_query, key_at(i)), row[i], never));
    });
  }

  void weigh(int g, const Expr& first_key) {
    take_scores(g, first_key);
    const auto both = [&](const Expr& x, Combine combine) { return combine(x, b.shuffle_xor(x, 1)); };
    const auto exp = [&](const Expr& x) { return b.call("exp", p.type, {x}); };
    Expr high = row[0];
    for (int i = 1; i < kOwn; ++i) high = max(high, row[i]);
    const Expr before = greatest[g];
    const Expr now = max(before, both(high, [](const Expr& x, const Expr& y) { return max(x, y); }));
    const Expr shift = select(now == never, zero, now), kept = exp(before - shift);
    Expr sum = zero;
    for (int i = 0; i < kOwn; i += kVector) {
      std::vector<Expr> powers;
      for (int j = 0; j < kVector; ++j) {
        powers.push_back(exp(row[i + j] - shift));
        sum = sum + powers.back();
      }
      weights.store(own_weights(g) + column(i), powers);
    }
    greatest.set(g, now);
    total.set(g, total[g] * kept + both(sum, [](const Expr& x, const Expr& y) { return x + y; }));
    // A row of the matrix that scales results, in place of scores that this thread alone has read.
    const std::vector<Expr> factor(kVector, kept);
    for (int i = 0; i < kMatrixSide / 2; i += kVector) scores.store(own_scores() + column(i), factor);
    for (int i = 0; of.again && i < of.columns / 2; ++i) {
      const int place = g * of.columns / 2 + i;
      extra.set(place, extra[place] * kept);
    }
  }

  void scale_results(int g) {
    const int wide = of.columns / kMatrixSide;
    for (int i = 0; i < tall(); ++i) {
      matrices.factor[0].load(scores, warp_scores + i * of.key.matrix_rows * kStride, kStride, false);
      for (int j = 0; j < wide; ++j)
        matrices.results[static_cast<std::size_t>((g * tall() + i) * wide + j)].scale(matrices.factor[0]);
    }
  }

  void multiply_values(const HeldFactor& values) {
    const int wide = of.columns / kMatrixSide;
    const Matrix& right = matrices.right[0];
    for (int at = 0; at < kKeys; at += kMatrixSide) {
      for (int i = 0; i < matrices.rows; ++i)
        matrices.left[static_cast<std::size_t>(i)].load(
            weights,
            warp_scores + (i / tall() * kWarps * kRows * kStride + i % tall() * of.key.matrix_rows * kStride + at),
            kStride, false);
      for (int j = 0; j < wide; ++j) {
        load_matrix(right, values, b.literal(DType::I32, j * kMatrixSide), at, false);
        for (int i = 0; i < matrices.rows; ++i)
          matrices.results[static_cast<std::size_t>(i * wide + j)].add_product(
              matrices.left[static_cast<std::size_t>(i)], right);
      }
    }
  }

  /// Calls f(g, i, value) for the thread's results: `i` is the place in `extra`, `value` the column.
  void each_result(FunctionRef<void(int g, int i, const Expr& value)> f) const {
    for (int g = 0; g < of.groups(); ++g)
      for (int i = 0; i < of.columns / 2; ++i) f(g, g * of.columns / 2 + i, first_value + column(i).as(of.key.index));
  }
  Expr place_of(int g, const Expr& value) const {
    return out.start(batch, head) + query(g) * out.strides[2] + value * out.strides[3];
  }

  /// Is any of the block's results NaN?
  Expr is_spoilt() {
    const Local found = b.variable(b.literal(DType::I32, 0));
    each_result([&](int g, int, const Expr& value) {
      b.when((query(g) < p.queries) & (value < p.values), [&] {
        const Expr x = out.buffer[place_of(g, value)];
        found.set(found.get() | (x != x).as(DType::I32));
      });
    });
    return fold_block(b, found, [](const Expr& x, const Expr& y) { return x | y; }) != 0;
  }

  /// Adds weight * value for the values that are not finite, of times [begin, end), where they are seen.
  void add_hidden(const Expr& begin, const Expr& end) {
    b.loop(begin, end, b.literal(of.key.index, 1), [&](const Expr& time) {
      each_result([&](int g, int i, const Expr& value) {
        b.when(value < p.values, [&] {
          const Expr x = p.v.buffer[p.v.start(batch, kv_head) + time * p.v.strides[2] + value * p.v.strides[3]];
          b.when(x - x != 0, [&] {
            const Expr weight = weights[own_weights(g) + (time - begin).as(DType::I32)];
            b.when(p.sees(batch, head, query(g), time), [&] { extra.set(i, extra[i] + weight * x); });
          });
        });
      });
    });
  }

  /// Results pass through the memory of scores, as many columns at once as there are keys in a tile.
  void store_results(const Expr& wanted) {
    const int wide = of.columns / kMatrixSide, at_once = std::min(wide, kKeys / kMatrixSide);
    for (int g = 0; g < of.groups(); ++g)
      for (int begin = 0; begin < wide; begin += at_once) {
        b.barrier();
        for (int i = 0; i < tall(); ++i)
          for (int j = 0; j < at_once; ++j)
            matrices.results[static_cast<std::size_t>((g * tall() + i) * wide + begin + j)].store(
                scores, warp_scores + (i * of.key.matrix_rows * kStride + j * kMatrixSide), kStride);
        b.barrier();
        take_results(g, begin * kMatrixSide, at_once * kMatrixSide, wanted);
      }
  }

  void take_results(int g, int begin, int count, const Expr& wanted) {
    const Expr sum = total[g], divisor = select(sum == zero, b.literal(p.type, 1), sum);
    for (int i = 0; i < count / 2; i += kVector) {
      const std::vector<Expr> made = scores.load(own_scores() + column(i), kVector);
      for (int j = 0; j < kVector; ++j) {
        Expr x = made[static_cast<std::size_t>(j)];
        if (of.again) {
          const Expr more = extra[(g * of.columns + begin) / 2 + i + j];
          x = select(more == zero, x, x + more);
        }
        const Expr value = first_value + (column(i + j) + begin).as(of.key.index);
        b.when(wanted & (query(g) < p.queries) & (value < p.values),
               [&] { out.buffer.store(place_of(g, value), x / divisor); });
      }
    }
  }

  void store_sums(const Expr& wanted) {
    for (int g = 0; g < of.groups(); ++g)
      b.when(wanted & (chunk == 0) & (query(g) < p.queries) & (half == 0), [&] {
        const Expr high = greatest[g];
        log_sum.store((batch * p.heads + head) * p.queries + query(g),
                      select(high == never, zero, high) + b.call("log", p.type, {total[g]}));
      });
  }

  Builder& b;
  const MatrixAttentionKernel& of;
  AttentionParameters p;
  const Sequence out;
  const Buffer log_sum;
  const Expr query_tiles, chunks;
  const Shared factors, scores, weights;
  const Matrices matrices;
  const Local greatest, total, row, extra;  // of each group of queries; scores; what hidden values hold back
  const Expr zero, never, warp_scores, own_row, half;
  Expr first, chunk, first_value, head, batch, kv_head;
};

}  // namespace

Kernel MatrixAttentionKernel::kernel() const {
  Builder b(again ? "attention_again" : "attention", kWarps * kLanes);
  Attending(b, *this).write();
  return b.finish();
}

MatrixAttentionKernel matrix_attention(const AttentionKey& key, const AttentionWay& way, std::int64_t width,
                                       int columns, const std::array<Loading, 3>& loadings, bool again) {
  const auto& [q, k, v] = loadings;
  MatrixAttentionKernel made{key, way.rows, kMatrixSide, columns, q, k, v, again};
  while (made.depth < width) made.depth *= 2;
  // Queries lie where keys do. Values that are not finite are looked for one by one.
  made.key.words = !again && q.width > 1 && k.width > 1 && v.width > 1 && q.along_depth == k.along_depth;
  return made;
}

bool attends_by_matrices(const Gpu& gpu, const AttentionKey& key, std::int64_t width) {
  const Capabilities& has = gpu.driver().capabilities();
  return key.fragments && key.matrix_rows > 0 && has.shuffles_among(kLanes) && width <= MatrixAttentionKernel::kWidest;
}

}  // namespace kiln::gpu::family
