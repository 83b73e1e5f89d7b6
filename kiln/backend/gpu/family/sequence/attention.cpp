#include "kiln/backend/gpu/family/sequence/attention.hpp"

#include <algorithm>
#include <limits>

namespace kiln::gpu::family {
namespace {

Expr at(const Sequence& x, const Expr& batch, const Expr& head, const Expr& query, const Expr& key) {
  return x.start(batch, head) + query * x.strides[2] + key * x.strides[3];
}

/// A mask or bias, broadcast to the scores.
Array broadcast_to_scores(const Value& value, const Call& call) {
  const Shape &q = call.in[op::Attention::q].shape(), &k = call.in[op::Attention::k].shape();
  const Shape scores{q[0], q[1], q[2], k[2]};
  Array array = read(value);
  array.strides = strided::broadcast_strides(array.shape, array.strides, scores);
  array.shape = scores;
  return array;
}

}  // namespace

AttentionParameters::AttentionParameters(Builder& builder, const AttentionKey& of)
    : key(of), type(expr::computed_in(of.dtype)), builder_(builder) {
  for (Sequence* operand : {&q, &k, &v}) *operand = factor();
  if (key.masked) {
    mask.buffer = builder.input(DType::Bool);
    for (Expr& stride : mask.strides) stride = builder.number(key.index);
  }
  if (key.biased) bias = sequence();
  for (Expr* number : {&heads, &shared, &queries, &keys, &width, &values, &window}) *number = builder.number(key.index);
  scale = builder.number(type);
  cap = builder.number(type);
}

Sequence AttentionParameters::sequence(Use use, DType dtype) {
  Sequence made;
  made.buffer = use == Use::Both      ? builder_.both(dtype)
                : use == Use::Written ? builder_.output(dtype)
                                      : builder_.input(dtype);
  for (Expr& stride : made.strides) stride = builder_.number(key.index);
  return made;
}

void AttentionParameters::append(std::vector<Argument>& arguments, const Array& sequence) {
  arguments.emplace_back(sequence);
  for (const std::int64_t stride : sequence.strides) arguments.emplace_back(stride);
}

void AttentionParameters::append(std::vector<Argument>& arguments, const Call& call, std::int64_t window) {
  using Op = op::Attention;
  const Array q = read(call.in[Op::q]), k = read(call.in[Op::k]), v = read(call.in[Op::v]);
  for (const Array& operand : {q, k, v}) append(arguments, operand);
  for (const Value& value : {call.in[Op::mask], call.in[Op::bias]})
    if (value) append(arguments, broadcast_to_scores(value, call));
  const std::int64_t farthest = q.shape[2] + k.shape[2] + 1;
  for (const std::int64_t number : {q.shape[1], q.shape[1] / k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3],
                                    std::min(window, farthest)})
    arguments.emplace_back(number);
  arguments.emplace_back(call.in[Op::scale].scalar(), q.dtype);
  const Value& cap = call.in[Op::softcap];
  arguments.emplace_back(cap.empty() ? Scalar(1.0) : cap.scalar(), q.dtype);
}

Expr AttentionParameters::in_reach(const Expr& query, const Expr& at_key) const {
  Expr reached = (query < queries) & (at_key < keys);
  const Expr distance = query + (keys - queries) - at_key;
  if (key.causal) reached = reached & (distance >= 0);
  if (key.windowed) reached = reached & (distance < window);
  if (key.windowed && !key.causal) reached = reached & (-distance < window);
  return reached;
}

Expr AttentionParameters::sees(const Expr& batch, const Expr& head, const Expr& query, const Expr& at_key) const {
  Builder& k = builder_;
  const Expr reached = in_reach(query, at_key), never = k.literal(type, -std::numeric_limits<double>::infinity());
  if (!key.masked && !key.biased) return reached;
  const Local seen = k.variable(k.literal(DType::I32, 0));
  k.when(reached, [&] {
    Expr shown = k.boolean(true);
    if (key.biased) shown = shown & (bias.buffer[at(bias, batch, head, query, at_key)] != never);
    if (key.masked) shown = shown & (mask.buffer[at(mask, batch, head, query, at_key)] != 0);
    seen.set(shown.as(DType::I32));
  });
  return seen.get() != 0;
}

AttentionParameters::Score AttentionParameters::shown_score(const Expr& dot) const {
  Score made{dot * scale, {}};
  if (key.capped) {
    const Expr t = builder_.call("tanh", type, {made.score / cap});
    made.score = t * cap;
    made.slope = builder_.literal(type, 1) - t * t;
  }
  return made;
}

AttentionParameters::Score AttentionParameters::score(const Expr& batch, const Expr& head, const Expr& query,
                                                      const Expr& at_key, const Expr& dot) const {
  Builder& k = builder_;
  const Expr never = k.literal(type, -std::numeric_limits<double>::infinity());
  Score made = shown_score(dot);
  const Expr reached = in_reach(query, at_key);
  if (!key.masked && !key.biased) {
    made.score = select(reached, made.score, never);
    return made;
  }
  const Local score = k.variable(never);
  k.when(reached, [&] {
    Expr x = made.score;
    if (key.biased) {
      const Expr more = bias.buffer[at(bias, batch, head, query, at_key)];
      x = select(more == never, never, x + more);  // minus infinity even if the score is NaN
    }
    if (key.masked) x = select(mask.buffer[at(mask, batch, head, query, at_key)] != 0, x, never);
    score.set(x);
  });
  made.score = score;
  return made;
}

AttentionParameters::Range AttentionParameters::keys_of(const Expr& first_query, int count) const {
  const Expr zero = builder_.literal(key.index, 0), position = first_query + (keys - queries);
  Range range{zero, keys};
  if (key.windowed) range.begin = max(position - window + 1, zero);
  if (key.causal) range.end = min(range.end, position + count);
  else if (key.windowed) range.end = min(range.end, position + (count - 1) + window);
  return range;
}

AttentionParameters::Range AttentionParameters::queries_of(const Expr& first_key, int count) const {
  const Expr zero = builder_.literal(key.index, 0), query = first_key - (keys - queries);
  Range range{zero, queries};
  if (key.causal) range.begin = max(query, zero);
  else if (key.windowed) range.begin = max(query - window + 1, zero);
  if (key.windowed) range.end = min(range.end, query + (count - 1) + window);
  return range;
}

namespace {

/// The bytes of shared memory: tiles of queries and keys, the tile of scores, and tiles of values.
std::int64_t bytes_of(const AttentionTiles& tiles, DType dtype) {
  AttentionKey key{};
  key.depth = tiles.depth;
  const Tile scores = score_tile(key, tiles.side, tiles.side), result = result_tile(key, tiles.side, tiles.columns);
  const Tile values{0, result.columns, result.depth, 1, 1};
  const auto each = static_cast<std::int64_t>(size_of(expr::computed_in(dtype)));
  return scores.shared_bytes(dtype) + values.shared_bytes(dtype) + Resident::elements(scores, tiles.side) * each;
}

}  // namespace

AttentionTiles attention_tiles(const Gpu& gpu, DType dtype, bool fragments) {
  // Matrices that warps hold take some of the shared memory to give threads their sums.
  const bool matrices = gpu.driver().capabilities().matrix(dtype) != nullptr;
  const AttentionTiles whole{size_of(dtype) == 8 ? 32 : 64, fragments && !matrices ? 32 : 16, 128};
  if (fragments) return whole;
  // Folds, and shuffles where they go through shared memory, take the rest.
  constexpr std::int64_t kRest = 2304;
  const std::int64_t room = gpu.driver().capabilities().shared_memory - kRest;
  for (const AttentionTiles& tiles : {whole, AttentionTiles{32, 16, 128}})
    if (bytes_of(tiles, dtype) <= room) return tiles;
  return {32, 8, 64};
}

int attention_columns(const AttentionTiles& tiles, std::int64_t width) {
  int columns = 16;
  while (columns < width && columns < tiles.columns) columns *= 2;
  return columns;
}

Tile score_tile(const AttentionKey& key, int rows, int columns) {
  if (key.fragments) return {rows, columns, key.depth, 2, columns / 4, true, key.matrix_rows, key.stages};
  // A factor has at least as many elements as there are threads.
  return {rows, columns, rows < 32 ? 16 : key.depth, rows / 16, columns / 16, false, 0, key.stages};
}
Tile result_tile(const AttentionKey& key, int rows, int columns) {
  if (key.fragments) return {rows, columns, 16, 2, columns / 4, true, key.matrix_rows};
  // There are at least as many columns as threads load at once.
  return {rows, columns, columns < 32 ? 16 : 8, rows / 16, columns / 16};
}

Loading load_width(const Array& x) {
  const std::int64_t others[] = {x.shape[0] > 1 ? x.strides[0] : 0, x.shape[1] > 1 ? x.strides[1] : 0};
  return loading_of({x.data, x.strides[2], x.strides[3]}, x.dtype, x.shape[2], x.shape[3], {others});
}
Loading load_time(const Array& x) {
  const std::int64_t others[] = {x.shape[0] > 1 ? x.strides[0] : 0, x.shape[1] > 1 ? x.strides[1] : 0};
  return loading_of({x.data, x.strides[3], x.strides[2]}, x.dtype, x.shape[3], x.shape[2], {others});
}

AttentionKey attention_key(const Gpu& gpu, const Call& call, bool causal, std::int64_t window,
                           std::initializer_list<Array> others) {
  using Op = op::Attention;
  std::vector<Array> arrays(others);
  for (const Value& value : {call.in[Op::q], call.in[Op::k], call.in[Op::v]}) arrays.push_back(read(value));
  for (const Value& value : {call.in[Op::mask], call.in[Op::bias]})
    if (value) arrays.push_back(broadcast_to_scores(value, call));
  std::int64_t most = 0;
  for (const Array& array : arrays) {
    std::int64_t reach = array.numel() / std::max<std::int64_t>(array.shape[2] * array.shape[3], 1);
    for (int dim = 0; dim < array.shape.size(); ++dim) reach += (array.shape[dim] + 128) * std::abs(array.strides[dim]);
    most = std::max(most, reach);
  }
  const auto has = [&](Op::Slot slot) { return !call.in[slot].empty(); };
  const DType dtype = read(call.in[Op::q]).dtype;
  const Capabilities& device = gpu.driver().capabilities();
  const Fragment* const matrix = device.matrix(dtype);
  // Tiles of scores and results, and what gives threads the sums of matrices, take nearly all of this.
  constexpr std::int64_t kRoom = 48 << 10;
  const bool fragments = multiplies_fragments(gpu, dtype) && (!matrix || device.shared_memory >= kRoom);
  return {.dtype = dtype,
          .index = index_type({most}),
          .causal = causal,
          .windowed = window > 0,
          .capped = has(Op::softcap),
          .masked = has(Op::mask),
          .biased = has(Op::bias),
          .fragments = fragments,
          .matrix_rows = matrix ? matrix->m : 0,
          .depth = attention_tiles(gpu, dtype, fragments).depth};
}

bool hides(const AttentionKey& key, const Call& call) {
  const bool one_query = call.in[op::Attention::q].shape()[2] == 1;
  return key.masked || key.biased || key.windowed || (key.causal && !one_query);
}

void when_spoilt(Builder& b, std::initializer_list<Made> results, FunctionRef<void()> then) {
  const Local found = b.variable(b.literal(DType::I32, 0));
  for (const Made& made : results) {
    const Window& part = made.part;
    const DType index = part.first.type();
    const int count = made.rows * made.columns, at_once = std::clamp(count / b.threads(), 1, 8);
    // Neighbouring threads read neighbours. Past the ends, the last row or column is read again.
    b.loop(b.thread(), select(part.width > 0, b.literal(DType::I32, count), b.literal(DType::I32, 0)),
           b.literal(DType::I32, at_once * b.threads()), [&](const Expr& from) {
             Expr any = found.get();
             for (int i = 0; i < at_once; ++i) {
               const Expr at = from + i * b.threads();
               const Expr time = min(part.first + (at / made.columns).as(index), part.times - 1);
               const Expr column = min(part.first_column + (at % made.columns).as(index), part.width - 1);
               const Expr x = made.to.buffer[part.start + time * made.to.strides[2] + column * made.to.strides[3]];
               any = any | (x != x).as(DType::I32);
             }
             found.set(any);
           });
  }
  b.when(fold_block(b, found, [](const Expr& x, const Expr& y) { return x | y; }) != 0, then);
}

void add_not_finite(Builder& b, const TileProduct& result, const Weights& weights, const Sequence& x,
                    const Window& window, const Expr& begin, const Expr& end,
                    const std::function<Expr(const Expr& row, const Expr& time)>& sees) {
  const int rows = result.tile.own_rows, columns = result.tile.own_columns;
  const DType index = begin.type(), type = result.sums.type();
  const Local values = b.local(type, columns);
  b.loop(begin, end, b.literal(index, 1), [&](const Expr& time) {
    Expr any = b.boolean(false);
    for (int j = 0; j < columns; ++j) {
      const Expr column = window.first_column + result.column(j).as(index);
      values.set(j, b.literal(type, 0));
      b.when(column < window.width,
             [&] { values.set(j, x.buffer[window.start + time * x.strides[2] + column * x.strides[3]]); });
      const Expr value = values[j];
      any = any | (value - value != 0);
    }
    b.when(any, [&] {
      for (int i = 0; i < rows; ++i) {
        const Expr row = result.row(i), seen = sees(window.first + row.as(index), time);
        const Expr weight = weights.resident.memory[weights.resident.place(row, (time - begin).as(DType::I32))];
        for (int j = 0; j < columns; ++j) {
          const Expr value = values[j], sum = result.sums[i * columns + j];
          result.sums.set(i * columns + j, select(seen & (value - value != 0), sum + weight * value, sum));
        }
      }
    });
  });
  b.barrier();
}

Expr fold_row(Builder& k, const Tile& tile, Expr x, Combine combine) {
  for (int mask = 1; mask < tile.row_threads(); mask *= 2) x = combine(x, k.shuffle_xor(x, mask));
  return x;
}

void Weights::store(const TileProduct& scores, int i, int j, const Expr& weight) const {
  resident.memory.store(resident.place(scores.row(i), scores.column(j)), weight);
}

}  // namespace kiln::gpu::family
