// op::Attention of halves by matrices that warps hold. Scores of a tile of keys pass through shared memory to the threads of
// their rows, which give back the weights of the softmax as halves, and what the results so far are to be multiplied by.
#include "kiln/backend/gpu/family/sequence/attention_matrices.hpp"

#include <algorithm>
#include <limits>

namespace kiln::gpu::family {
namespace {

// Keys of a tile; queries of a group.
constexpr int kKeys = WarpRows::kColumns, kGroup = WarpRows::kWarps * WarpRows::kRows;

int factor_elements(const MatrixAttentionKernel& of) {
  return std::max(TileSide::elements(WarpRows::tile(of.key, of.groups(), of.depth), kKeys, of.k.along_depth),
                  TileSide::elements(WarpRows::tile(of.key, of.groups(), kKeys), of.columns, of.v.along_depth));
}

/// Builds the kernel.
class Attending {
  static constexpr int kVector = WarpRows::kVector, kOwn = WarpRows::kOwn;

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
        warps(b, of.key, p.type, of.groups()),
        queries(warps.take(Matrix::Use::Left, warps.matrix_rows() * deep())),
        scores(warps.take(Matrix::Use::Sums, warps.matrix_rows() * (kKeys / kMatrixSide))),
        results(warps.take(Matrix::Use::Sums, warps.matrix_rows() * wide())),
        greatest(b.local(p.type, of.groups())),
        total(b.local(p.type, of.groups())),
        row(b.local(p.type, kOwn)),
        extra(b.local(p.type, of.again ? std::int64_t{of.groups()} * of.columns / 2 : 1)),
        zero(b.literal(p.type, 0)),
        never(b.literal(p.type, -std::numeric_limits<double>::infinity())) {
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
    const auto attend = [&] {
      clear();
      const AttentionParameters::Range range = p.keys_of(first, of.rows);
      load_queries();
      go_over_keys(range.begin / kKeys * kKeys, range.end);
      store_results();
      store_sums();
    };
    const Window part{out.start(batch, head), first, p.queries, first_value, p.values};
    if (of.again) when_spoilt(b, {{out, part, of.rows, of.columns}}, attend);
    else attend();
  }

 private:
  int each() const { return of.key.words ? 2 : 1; }
  int deep() const { return of.depth / kMatrixSide; }
  int wide() const { return of.columns / kMatrixSide; }
  Tile tile(int depth) const { return WarpRows::tile(of.key, of.groups(), depth); }
  /// The query of this thread in group g.
  Expr query(int g) const { return first + warps.row(g).as(of.key.index); }

  void clear() {
    for (int g = 0; g < of.groups(); ++g) {
      greatest.set(g, never);
      total.set(g, zero);
    }
    for (const Matrix& each : results) each.clear();
    for (int i = 0; of.again && i < of.groups() * of.columns / 2; ++i) extra.set(i, zero);
  }

  void load_queries() {
    TileSide side(b, tile(of.depth), kKeys, of.key.dtype, each(), of.k.along_depth, factors);
    const Expr none = b.literal(of.key.index, 0), turn = b.literal(DType::I32, 0);
    for (int g = 0; g < of.groups(); ++g) {
      const Factor from = p.q.by_width(of.q, p.q.start(batch, head), first + g * kGroup, p.queries);
      side.begin(from);
      side.load(none, p.width, 0);
      side.store(turn, 0);
      b.barrier();
      warps.load_rows(queries, side.held_at(turn), g, deep());
      b.barrier();
    }
  }

  /// Keys, and then values, of a tile lie in the same memory. They are loaded before they are needed: the values while scores
  /// are computed, the keys of the next tile until that begins.
  void go_over_keys(const Expr& from, const Expr& last) {
    TileSide keys(b, tile(of.depth), kKeys, of.key.dtype, each(), of.k.along_depth, factors);
    TileSide values(b, tile(kKeys), of.columns, of.key.dtype, each(), of.v.along_depth, factors);
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
      warps.multiply_lines(scores, queries, keys.held_at(turn), deep());
      for (int g = 0; g < of.groups(); ++g) {
        if (g > 0) b.barrier();
        warps.give(scores, g, kKeys / kMatrixSide, 0, kKeys / kMatrixSide);
        b.barrier();
        if (g == 0) values.store(turn, 0);
        weigh(g, first_key);
        b.barrier();
        warps.scale(results, g, wide());
      }
      warps.add_weighted(results, values.held_at(turn), wide(), false);
      if (of.again) add_hidden(first_key, end);
      b.barrier();
    });
  }

  /// Sets `row` to the thread's scores, -inf where the key is hidden.
  void take_scores(int g, const Expr& first_key) {
    const Expr at_query = query(g);
    const auto key_at = [&](int i) { return first_key + warps.column(i).as(of.key.index); };
    const AttentionKey& key = of.key;
    const bool by_element = key.masked || key.biased || key.windowed;
    for (int i = 0; i < kOwn; i += kVector) {
      const std::vector<Expr> dots = warps.scores.load(warps.score_place(i), kVector);
      for (int j = 0; j < kVector; ++j) {
        const Expr& dot = dots[static_cast<std::size_t>(j)];
        row.set(i + j,
                by_element ? p.score(batch, head, at_query, key_at(i + j), dot).score : p.shown_score(dot).score);
      }
    }
    if (by_element) return;
    // Most tiles have nothing to hide.
    Expr hides = first_key + kKeys > p.keys;
    if (key.causal) hides = hides | (first_key + (kKeys - 1) > first + g * kGroup + (p.keys - p.queries));
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
      warps.weights.store(warps.weight_place(g, warps.column(i)), powers);
    }
    greatest.set(g, now);
    total.set(g, total[g] * kept + both(sum, [](const Expr& x, const Expr& y) { return x + y; }));
    warps.give_factor(kept);
    for (int i = 0; of.again && i < of.columns / 2; ++i) {
      const int place = g * of.columns / 2 + i;
      extra.set(place, extra[place] * kept);
    }
  }

  /// Calls f(g, i, value) for the thread's results: `i` is the place in `extra`, `value` the column.
  void each_result(FunctionRef<void(int g, int i, const Expr& value)> f) const {
    for (int g = 0; g < of.groups(); ++g)
      for (int i = 0; i < of.columns / 2; ++i)
        f(g, g * of.columns / 2 + i, first_value + warps.column(i).as(of.key.index));
  }
  Expr place_of(int g, const Expr& value) const {
    return out.start(batch, head) + query(g) * out.strides[2] + value * out.strides[3];
  }

  /// Adds weight * value for the values that are not finite, of times [begin, end), where they are seen.
  void add_hidden(const Expr& begin, const Expr& end) {
    b.loop(begin, end, b.literal(of.key.index, 1), [&](const Expr& time) {
      each_result([&](int g, int i, const Expr& value) {
        b.when(value < p.values, [&] {
          const Expr x = p.v.buffer[p.v.start(batch, kv_head) + time * p.v.strides[2] + value * p.v.strides[3]];
          b.when(x - x != 0, [&] {
            const Expr weight = warps.weights[warps.weight_place(g, (time - begin).as(DType::I32))];
            b.when(p.sees(batch, head, query(g), time), [&] { extra.set(i, extra[i] + weight * x); });
          });
        });
      });
    });
  }

  /// Results pass through the memory of scores, as many columns at once as there are keys in a tile.
  void store_results() {
    const int at_once = std::min(wide(), kKeys / kMatrixSide);
    for (int g = 0; g < of.groups(); ++g)
      for (int begin = 0; begin < wide(); begin += at_once) {
        b.barrier();
        warps.give(results, g, wide(), begin, at_once);
        b.barrier();
        take_results(g, begin * kMatrixSide, at_once * kMatrixSide);
      }
  }

  void take_results(int g, int begin, int count) {
    const Expr sum = total[g], divisor = select(sum == zero, b.literal(p.type, 1), sum);
    for (int i = 0; i < count / 2; i += kVector) {
      const std::vector<Expr> made = warps.scores.load(warps.score_place(i), kVector);
      for (int j = 0; j < kVector; ++j) {
        Expr x = made[static_cast<std::size_t>(j)];
        if (of.again) {
          const Expr more = extra[(g * of.columns + begin) / 2 + i + j];
          x = select(more == zero, x, x + more);
        }
        const Expr value = first_value + (warps.column(i + j) + begin).as(of.key.index);
        b.when((query(g) < p.queries) & (value < p.values), [&] { out.buffer.store(place_of(g, value), x / divisor); });
      }
    }
  }

  void store_sums() {
    for (int g = 0; g < of.groups(); ++g)
      b.when((chunk == 0) & (query(g) < p.queries) & warps.leads(), [&] {
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
  const Shared factors;
  const WarpRows warps;
  const WarpRows::Matrices queries, scores, results;
  const Local greatest, total, row, extra;  // of each group of queries; scores; what hidden values hold back
  const Expr zero, never;
  Expr first, chunk, first_value, head, batch, kv_head;
};

}  // namespace

Kernel MatrixAttentionKernel::kernel() const {
  Builder b(again ? "attention_again" : "attention", WarpRows::kWarps * kLanes);
  Attending(b, *this).write();
  return b.finish();
}

MatrixAttentionKernel matrix_attention(const AttentionKey& key, const AttentionWay& way, std::int64_t width,
                                       int columns, const std::array<Loading, 3>& loadings, bool again) {
  const auto& [q, k, v] = loadings;
  MatrixAttentionKernel made{key, way.rows, padded_width(width), columns, q, k, v, again};
  // Queries lie where keys do. Values that are not finite are looked for one by one.
  made.key.words = !again && q.width > 1 && k.width > 1 && v.width > 1 && q.along_depth == k.along_depth;
  return made;
}

bool two_groups_fit(std::int64_t width, std::int64_t values) { return std::max(width, values) <= WarpRows::kColumns; }

int queries_by_matrices(const Gpu& gpu, std::int64_t heads, std::int64_t queries, std::int64_t width, int columns) {
  const bool fill = heads * blocks_for(queries, 2 * kGroup) >= gpu.driver().capabilities().multiprocessors;
  return two_groups_fit(width, columns) && fill && queries > kGroup ? 2 * kGroup : kGroup;
}

bool attends_by_matrices(const Gpu& gpu, const AttentionKey& key, std::int64_t width) {
  constexpr std::int64_t kWidest = 128;  // wider queries, in their matrices, are more than a warp can hold
  const Capabilities& has = gpu.driver().capabilities();
  return key.fragments && key.matrix_rows > 0 && has.shuffles_among(kLanes) && width <= kWidest;
}

}  // namespace kiln::gpu::family
