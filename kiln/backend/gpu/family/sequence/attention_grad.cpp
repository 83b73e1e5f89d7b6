// op::AttentionGrad: a block for each tile of queries goes over the keys, and one for each tile of keys over the
// queries, so that each gradient is summed by one block, in one order.
#include <limits>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/sequence/attention_grad.hpp"
#include "kiln/backend/gpu/family/sequence/attention_matrices.hpp"

namespace kiln::gpu::family {
namespace {

/// The softmax weight of a query and a key, and the factor from the gradient of a score to that of the product; hide()
/// sets both to 0 if the key is hidden, and returns whether it is.
struct SoftmaxWeight {
  Expr share, slope;
  SoftmaxWeight(Builder& b, const AttentionParameters& p, const OfQuery& query, const AttentionParameters::Score& score)
      : share(b.call("exp", p.type, {score.score - query.shift})),
        slope(score.slope ? score.slope * p.scale : p.scale) {}
  Expr hide(Builder& b, const AttentionParameters& p, const AttentionParameters::Score& score) {
    const Expr zero = b.literal(p.type, 0);
    const Expr hidden = score.score == b.literal(p.type, -std::numeric_limits<double>::infinity());
    share = select(hidden, zero, share);
    slope = select(hidden, zero, slope);
    return hidden.as(DType::I32);
  }
};

void store(Builder& b, const Sequence& to, const TileProduct& made, const Window& w) {
  made.each([&](const Expr& row, const Expr& column, int i) {
    const Expr time = w.first + row.as(w.first.type());
    const std::vector<Expr> group = made.group(i);
    for (std::size_t j = 0; j < group.size(); ++j) {
      const Expr at = w.first_column + column.as(w.first.type()) + static_cast<int>(j);
      b.when((time < w.times) & (at < w.width),
             [&] { to.buffer.store(w.start + time * to.strides[2] + at * to.strides[3], group[j]); });
    }
  });
}

struct QueryGradKernel {
  AttentionKey key;
  int rows, side, columns;  // queries, keys and columns of the result per block
  Loading q, k, v, grad, keys;
  bool again;  // recomputes results that are NaN, without hidden elements

  Kernel kernel() const {
    using Use = AttentionParameters::Use;
    const Tile tile = score_tile(key, rows, side);
    Builder b(again ? "attention_query_grad_again" : "attention_query_grad", tile.threads());
    AttentionParameters p(b, key);
    const Given given(b, p);
    const Sequence to = p.sequence(again ? Use::Both : Use::Written);
    const Expr block = b.block().as(key.index), rest = block / given.tiles, zero = b.literal(key.index, 0);
    const Expr first = block % given.tiles * rows, first_column = rest % given.chunks * columns;
    const Expr head = rest / given.chunks % p.heads, batch = rest / given.chunks / p.heads, kv_head = head / p.shared;

    const Window part{to.start(batch, head), first, p.queries, first_column, p.width};
    const auto grade = [&] {
      TileProduct scores(b, tile, key.dtype), result(b, result_tile(key, rows, columns), key.dtype);
      const Weights weights(b, key.dtype, tile);
      std::vector<OfQuery> of_rows;
      for (int i = 0; i < tile.own_rows; ++i)
        of_rows.emplace_back(b, p, given, batch, head, first + scores.row(i).as(key.index));
      const Local shares = b.local(p.type, std::int64_t{tile.own_rows} * tile.own_columns);
      const Local slopes = b.local(p.type, std::int64_t{tile.own_rows} * tile.own_columns);
      const Local hidden = b.local(DType::I32, std::int64_t{tile.own_rows} * tile.own_columns);
      result.clear();

      const AttentionParameters::Range range = p.keys_of(first, rows);
      b.loop(range.begin / side * side, range.end, b.literal(key.index, side), [&](const Expr& first_key) {
        scores.clear();
        scores.add(p.q.by_width(q, p.q.start(batch, head), first, p.queries),
                   p.k.by_width(k, p.k.start(batch, kv_head), first_key, p.keys), zero, p.width);
        for (int i = 0; i < tile.own_rows; ++i)
          for (int j = 0; j < tile.own_columns; ++j) {
            const int place = i * tile.own_columns + j;
            const AttentionParameters::Score score =
                p.score(batch, head, first + scores.row(i).as(key.index), first_key + scores.column(j).as(key.index),
                        scores.sums[place]);
            SoftmaxWeight of(b, p, of_rows[static_cast<std::size_t>(i)], score);
            if (again) hidden.set(place, of.hide(b, p, score));
            shares.set(place, of.share);
            slopes.set(place, of.slope);
          }
        scores.clear();
        scores.add(given.grad.by_width(grad, given.grad.start(batch, head), first, p.queries),
                   p.v.by_width(v, p.v.start(batch, kv_head), first_key, p.keys), zero, p.values);
        for (int i = 0; i < tile.own_rows; ++i)
          for (int j = 0; j < tile.own_columns; ++j) {
            const int place = i * tile.own_columns + j;
            const Expr inner = shares[place] * (scores.sums[place] - of_rows[static_cast<std::size_t>(i)].delta);
            const Expr outer = inner * slopes[place];
            weights.store(scores, i, j, again ? select(hidden[place] != 0, b.literal(p.type, 0), outer) : outer);
          }
        const Expr start = p.k.start(batch, kv_head), end = min(first_key + side, p.keys);
        if (!again) {
          result.add(weights.resident, p.k.by_time(keys, start, first_column, p.width), first_key, end);
          return;
        }
        result.add(weights.resident, p.k.finite_by_time(keys, start, first_column, p.width), first_key, end);
        add_not_finite(b, result, weights, p.k, {start, first, p.queries, first_column, p.width}, first_key, end,
                       [&](const Expr& query, const Expr& at) { return p.sees(batch, head, query, at); });
      });
      store(b, to, result, part);
    };
    if (again) when_spoilt(b, {{to, part, rows, columns}}, grade);
    else grade();
    return b.finish();
  }
};

struct KeyGradKernel {
  AttentionKey key;
  int rows, side, columns;  // keys, queries and columns of the results per block
  Loading q, k, v, grad, queries, grads;
  bool again;

  Kernel kernel() const {
    using Use = AttentionParameters::Use;
    const Tile tile = score_tile(key, rows, side);
    Builder b(again ? "attention_key_grad_again" : "attention_key_grad", tile.threads());
    AttentionParameters p(b, key);
    const Given given(b, p);
    const Use use = again ? Use::Both : Use::Written;
    const Sequence to_key = p.sequence(use), to_value = p.sequence(use);
    const Expr block = b.block().as(key.index), rest = block / given.tiles;
    const Expr zero = b.literal(key.index, 0), one = b.literal(key.index, 1);
    const Expr first_key = block % given.tiles * rows, first_column = rest % given.chunks * columns;
    const Expr kv_heads = p.heads / p.shared;
    const Expr kv_head = rest / given.chunks % kv_heads, batch = rest / given.chunks / kv_heads;

    const Window part_of_key{to_key.start(batch, kv_head), first_key, p.keys, first_column, p.width};
    const Window part_of_value{to_value.start(batch, kv_head), first_key, p.keys, first_column, p.values};
    const auto grade = [&] {
      TileProduct scores(b, tile, key.dtype), of_key(b, result_tile(key, rows, columns), key.dtype);
      TileProduct of_value = of_key.beside(queries);
      const Weights weights(b, key.dtype, tile);
      const Local slopes = b.local(p.type, std::int64_t{tile.own_rows} * tile.own_columns);
      const Local hidden = b.local(DType::I32, std::int64_t{tile.own_rows} * tile.own_columns);
      of_key.clear();
      of_value.clear();
      const AttentionParameters::Range range = p.queries_of(first_key, rows);
      b.loop(kv_head * p.shared, (kv_head + 1) * p.shared, one, [&](const Expr& head) {
        b.loop(range.begin / side * side, range.end, b.literal(key.index, side), [&](const Expr& first) {
          const auto sees = [&](const Expr& at, const Expr& query) { return p.sees(batch, head, query, at); };
          const Expr end = min(first + side, p.queries), start = p.q.start(batch, head);
          const Expr grad_start = given.grad.start(batch, head);
          std::vector<OfQuery> of_columns;
          for (int j = 0; j < tile.own_columns; ++j)
            of_columns.emplace_back(b, p, given, batch, head, first + scores.column(j).as(key.index));
          // Rows are keys here, and columns queries.
          scores.clear();
          scores.add(p.k.by_width(k, p.k.start(batch, kv_head), first_key, p.keys),
                     p.q.by_width(q, start, first, p.queries), zero, p.width);
          for (int i = 0; i < tile.own_rows; ++i)
            for (int j = 0; j < tile.own_columns; ++j) {
              const int place = i * tile.own_columns + j;
              const AttentionParameters::Score score =
                  p.score(batch, head, first + scores.column(j).as(key.index), first_key + scores.row(i).as(key.index),
                          scores.sums[place]);
              SoftmaxWeight of(b, p, of_columns[static_cast<std::size_t>(j)], score);
              if (again) hidden.set(place, of.hide(b, p, score));
              weights.store(scores, i, j, of.share);
              slopes.set(place, of.share * of.slope);
            }
          if (again) {
            of_value.add(weights.resident, given.grad.finite_by_time(grads, grad_start, first_column, p.values), first,
                         end);
            add_not_finite(b, of_value, weights, given.grad, {grad_start, first_key, p.keys, first_column, p.values},
                           first, end, sees);
          } else {
            of_value.add(weights.resident, given.grad.by_time(grads, grad_start, first_column, p.values), first, end);
          }
          scores.clear();
          scores.add(p.v.by_width(v, p.v.start(batch, kv_head), first_key, p.keys),
                     given.grad.by_width(grad, grad_start, first, p.queries), zero, p.values);
          for (int i = 0; i < tile.own_rows; ++i)
            for (int j = 0; j < tile.own_columns; ++j) {
              const int place = i * tile.own_columns + j;
              const Expr delta = of_columns[static_cast<std::size_t>(j)].delta;
              const Expr outer = slopes[place] * (scores.sums[place] - delta);
              weights.store(scores, i, j, again ? select(hidden[place] != 0, b.literal(p.type, 0), outer) : outer);
            }
          if (again) {
            of_key.add(weights.resident, p.q.finite_by_time(queries, start, first_column, p.width), first, end);
            add_not_finite(b, of_key, weights, p.q, {start, first_key, p.keys, first_column, p.width}, first, end,
                           sees);
          } else {
            of_key.add(weights.resident, p.q.by_time(queries, start, first_column, p.width), first, end);
          }
        });
      });
      store(b, to_key, of_key, part_of_key);
      store(b, to_value, of_value, part_of_value);
    };
    if (again) when_spoilt(b, {{to_key, part_of_key, rows, columns}, {to_value, part_of_value, rows, columns}}, grade);
    else grade();
    return b.finish();
  }
};

}  // namespace

// The bias's gradient is a matrix of all scores before it is summed: the op's expansion computes it.
bool run(Gpu& gpu, const op::AttentionGrad& op, Call call) {
  using Op = op::AttentionGrad;
  if (op.of_bias) return false;
  const Array q = read(call.in[Op::q]), k = read(call.in[Op::k]), v = read(call.in[Op::v]),
              grad = read(call.in[Op::grad]);
  Value held_sum, held_delta;
  const Array log_sum = gpu.read_contiguous(call.in[Op::log_sum], held_sum);
  std::vector<Array> made;
  const bool together = allocate_together(gpu, call, made);
  for (std::size_t i = 0; !together && i < call.out.size(); ++i) {
    const Array like = read(call.in[i]);
    made.push_back(gpu.allocate(call.out[i], dense_strides(like.shape, order_of(like.shape, like.strides))));
  }
  const bool attended = attend(gpu, op, call, log_sum, made);
  const Array delta = gpu.read_contiguous(call.in[Op::delta], held_delta);
  const AttentionKey key = attention_key(gpu, call, op.causal, op.window, {grad, made[0], made[1], made[2]});
  const AttentionTiles tiled = attention_tiles(gpu, q.dtype, key.fragments);
  const int side = tiled.side;
  const std::int64_t width = q.shape[3], values = v.shape[3];
  const Loading by_q = load_width(q), by_k = load_width(k), by_v = load_width(v), by_grad = load_width(grad);
  const auto launch = [&](const auto& kernel, std::int64_t most, std::int64_t times, const Array& of,
                          std::initializer_list<Array> results) {
    const std::int64_t chunks = blocks_for(most, kernel.columns), tiles = blocks_for(times, kernel.rows);
    std::vector<Argument> arguments;
    AttentionParameters::append(arguments, call, op.window);
    AttentionParameters::append(arguments, grad);
    for (const Argument& argument : {Argument(log_sum), Argument(delta), Argument(chunks), Argument(tiles)})
      arguments.push_back(argument);
    for (const Array& result : results) AttentionParameters::append(arguments, result);
    gpu.launch(kernel, of.shape[0] * of.shape[1] * chunks * tiles, arguments);
  };
  const int columns = attention_columns(tiled, width), both = attention_columns(tiled, std::max(width, values));
  const bool matrices =
      attends_by_matrices(gpu, key, std::max(width, values)) && std::max(width, values) <= MatrixGradKernel::kWidest;
  const auto by_matrices = [&](bool of_keys, bool again) {
    MatrixGradKernel made{key, of_keys, padded_width(width), padded_width(values), by_q, by_k, by_v, by_grad, again};
    // Rows lie where the others do. Elements that are not finite are looked for one by one.
    made.key.words = !again && std::min({by_q.width, by_k.width, by_v.width, by_grad.width}) > 1 &&
                     by_q.along_depth == by_k.along_depth && by_v.along_depth == by_grad.along_depth;
    return made;
  };
  const auto of_queries = [&](const AttentionWay& way, bool again) {
    if (matrices) return launch(by_matrices(false, again), width, q.shape[2], q, {made[0]});
    launch(QueryGradKernel{by(key, way), way.rows, side, columns, by_q, by_k, by_v, by_grad, load_time(k), again},
           width, q.shape[2], q, {made[0]});
  };
  const auto of_keys = [&](const AttentionWay& way, bool again) {
    if (matrices) return launch(by_matrices(true, again), std::max(width, values), k.shape[2], k, {made[1], made[2]});
    launch(KeyGradKernel{by(key, way), way.rows, side, both, by_q, by_k, by_v, by_grad, load_time(q), load_time(grad),
                         again},
           std::max(width, values), k.shape[2], k, {made[1], made[2]});
  };
  AttentionWay query_way{side, key.depth}, key_way = query_way;
  if (!attended) {
    using Kind = AttentionWork::Kind;
    const auto work = [&](Kind kind, const Array& rows, const Array& others) {
      return AttentionWork{
          kind, key, rows.shape[0] * rows.shape[1], rows.shape[2], others.shape[2], width, values, by_q, by_k, by_v};
    };
    if (!matrices)
      query_way = chosen_way(gpu, work(Kind::QueryGrad, q, k), query_way,
                             [&](const AttentionWay& each) { of_queries(each, false); });
    of_queries(query_way, false);
    if (!matrices)
      key_way =
          chosen_way(gpu, work(Kind::KeyGrad, k, q), key_way, [&](const AttentionWay& each) { of_keys(each, false); });
    of_keys(key_way, false);
  }
  if (hides(key, call)) {
    of_queries(query_way, true);
    of_keys(key_way, true);
  }
  return true;
}

}  // namespace kiln::gpu::family
