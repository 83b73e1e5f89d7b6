// op::Attention: a block takes a tile of queries over all keys that one of them may see, and keeps the largest score so
// far, the sum of exponentials, and the weighted sum of values.
#include <limits>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/sequence/attention_matrices.hpp"

namespace kiln::gpu::family {
namespace {

struct AttentionKernel {
  AttentionKey key;
  int rows, side, columns;  // queries, keys and values per block
  Loading q, k, v;
  bool again;  // recomputes results that are NaN, without hidden elements

  Kernel kernel() const {
    using Use = AttentionParameters::Use;
    const Tile tile = score_tile(key, rows, side);
    Builder b(again ? "attention_again" : "attention", tile.threads());
    AttentionParameters p(b, key);
    const Sequence out = p.sequence(again ? Use::Both : Use::Written);
    const Buffer log_sum = b.output(p.type);
    const Expr query_tiles = b.number(key.index), chunks = b.number(key.index);
    const Expr zero = b.literal(p.type, 0), never = b.literal(p.type, -std::numeric_limits<double>::infinity());

    const Expr block = b.block().as(key.index), rest = block / query_tiles;
    // Later queries see more keys if attention is causal: their blocks begin first.
    const Expr first = (query_tiles - 1 - block % query_tiles) * rows, chunk = rest % chunks;
    const Expr head = rest / chunks % p.heads, batch = rest / chunks / p.heads, kv_head = head / p.shared;
    const Expr first_value = chunk * columns;

    const auto attend = [&] {
      TileProduct scores(b, tile, key.dtype), result(b, result_tile(key, rows, columns), key.dtype);
      const Weights weights(b, key.dtype, tile);
      const int own = tile.own_rows;
      const Local greatest = b.local(p.type, own), total = b.local(p.type, own);
      for (int i = 0; i < own; ++i) {
        greatest.set(i, never);
        total.set(i, zero);
      }
      result.clear();
      const auto exp = [&](const Expr& x) { return b.call("exp", p.type, {x}); };
      const auto add = [](const Expr& x, const Expr& y) { return x + y; };
      const auto most = [](const Expr& x, const Expr& y) { return max(x, y); };

      const AttentionParameters::Range range = p.keys_of(first, rows);
      b.loop(range.begin / side * side, range.end, b.literal(key.index, side), [&](const Expr& first_key) {
        scores.clear();
        scores.add(p.q.by_width(q, p.q.start(batch, head), first, p.queries),
                   p.k.by_width(k, p.k.start(batch, kv_head), first_key, p.keys), b.literal(key.index, 0), p.width);
        for (int i = 0; i < own; ++i) {
          std::vector<Expr> row;
          for (int j = 0; j < tile.own_columns; ++j)
            row.push_back(p.score(batch, head, first + scores.row(i).as(key.index),
                                  first_key + scores.column(j).as(key.index), scores.sums[i * tile.own_columns + j])
                              .score);
          Expr high = row[0];
          for (const Expr& each : row) high = max(high, each);
          const Expr before = greatest[i], now = max(before, fold_row(b, tile, high, most));
          const Expr shift = select(now == never, zero, now), kept = exp(before - shift);
          Expr sum = zero;
          for (std::size_t j = 0; j < row.size(); ++j) {
            const Expr power = exp(row[j] - shift);
            weights.store(scores, i, static_cast<int>(j), power);
            sum = sum + power;
          }
          greatest.set(i, now);
          total.set(i, total[i] * kept + fold_row(b, tile, sum, add));
          for (int j = 0; j < result.tile.own_columns; ++j) {
            const int place = i * result.tile.own_columns + j;
            result.sums.set(place, result.sums[place] * kept);
          }
        }
        // The product begins with a barrier, after which all weights are stored, and ends with one.
        const Expr start = p.v.start(batch, kv_head), end = min(first_key + side, p.keys);
        if (!again) {
          result.add(weights.resident, p.v.by_time(v, start, first_value, p.values), first_key, end);
          return;
        }
        result.add(weights.resident, p.v.finite_by_time(v, start, first_value, p.values), first_key, end);
        add_not_finite(b, result, weights, p.v, {start, first, p.queries, first_value, p.values}, first_key, end,
                       [&](const Expr& query, const Expr& at) { return p.sees(batch, head, query, at); });
      });

      result.each([&](const Expr& row, const Expr& column, int i) {
        const Expr query = first + row.as(key.index), sum = total[i / result.tile.own_columns];
        const Expr divisor = select(sum == zero, b.literal(p.type, 1), sum);
        const std::vector<Expr> group = result.group(i);
        for (std::size_t j = 0; j < group.size(); ++j) {
          const Expr value = first_value + column.as(key.index) + static_cast<int>(j);
          b.when((query < p.queries) & (value < p.values), [&] {
            out.buffer.store(out.start(batch, head) + query * out.strides[2] + value * out.strides[3],
                             group[j] / divisor);
          });
        }
      });
      for (int i = 0; i < own; ++i) {
        const Expr query = first + scores.row(i).as(key.index), high = greatest[i];
        b.when((chunk == 0) & (query < p.queries) & (b.thread() % tile.row_threads() == 0), [&] {
          log_sum.store((batch * p.heads + head) * p.queries + query,
                        select(high == never, zero, high) + b.call("log", p.type, {total[i]}));
        });
      }
    };
    const Window part{out.start(batch, head), first, p.queries, first_value, p.values};
    if (again) when_spoilt(b, {{out, part, rows, columns}}, attend);
    else attend();
    return b.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::Attention& op, Call call) {
  using Op = op::Attention;
  const Array q = read(call.in[Op::q]), k = read(call.in[Op::k]), v = read(call.in[Op::v]);
  const Array out = gpu.allocate(call.out[0], dense_strides(call.out[0].shape(), order_of(q.shape, q.strides)));
  const Array log_sum = gpu.allocate(call.out[1]);
  const std::int64_t queries = q.shape[2], values = v.shape[3];
  if (log_sum.numel() == 0) return true;
  const bool attended = attend(gpu, op, call, out, log_sum);
  const AttentionKey key = attention_key(gpu, call, op.causal, op.window, {out});
  // A single warp would be too few threads to load tiles.
  const AttentionTiles tiled = attention_tiles(gpu, q.dtype, key.fragments);
  const int side = tiled.side, rows = queries <= 16 && !key.fragments ? 16 : side;
  const int columns = attention_columns(tiled, values);
  const std::int64_t chunks = std::max<std::int64_t>(blocks_for(values, columns), 1);
  const Loading by_q = load_width(q), by_k = load_width(k), by_v = load_time(v);
  const bool matrices = attends_by_matrices(gpu, key, q.shape[3]);
  const auto launch = [&](const AttentionWay& way, bool again) {
    const std::int64_t tiles = blocks_for(queries, way.rows);
    std::vector<Argument> arguments;
    AttentionParameters::append(arguments, call, op.window);
    AttentionParameters::append(arguments, out);
    for (const Argument& argument : {Argument(log_sum), Argument(tiles), Argument(chunks)})
      arguments.push_back(argument);
    const std::int64_t blocks = q.shape[0] * q.shape[1] * chunks * tiles;
    if (matrices)
      gpu.launch(matrix_attention(key, way, q.shape[3], columns, {by_q, by_k, by_v}, again), blocks, arguments);
    else gpu.launch(AttentionKernel{by(key, way), way.rows, side, columns, by_q, by_k, by_v, again}, blocks, arguments);
  };
  AttentionWay way{matrices ? queries_by_matrices(gpu, q.shape[0] * q.shape[1], queries, q.shape[3], columns) : rows,
                   key.depth};
  if (!attended) {
    const AttentionWork work{matrices ? AttentionWork::Kind::Matrices : AttentionWork::Kind::Forward,
                             key,
                             q.shape[0] * q.shape[1],
                             queries,
                             k.shape[2],
                             q.shape[3],
                             values,
                             by_q,
                             by_k,
                             by_v};
    way = chosen_way(gpu, work, way, [&](const AttentionWay& each) { launch(each, false); });
    launch(way, false);
  }
  if (hides(key, call)) launch(way, true);
  return true;
}

}  // namespace kiln::gpu::family
