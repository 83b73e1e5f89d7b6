// The forward pass of attention. Each task computes a block of queries: it visits all keys that they see, a block of
// keys at a time, with the running maximum and sum of Milakov and Gimelshein, "Online normalizer calculation for
// softmax" (2018).
#include "kiln/backend/cpu/simd/attention/attention.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/product/dots.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

Interval AttentionShape::keys_of(Interval block) const {
  // The positions of the first and the last query.
  const int64_t first = keys - queries + block.begin, last = keys - queries + block.end - 1;
  Interval seen{0, keys};
  if (window > 0) seen = {first - effective_window() + 1, last + effective_window()};
  if (causal) seen.end = last + 1;
  const int64_t begin = std::clamp<int64_t>(seen.begin, 0, keys);
  return {begin, std::clamp(seen.end, begin, keys)};
}

Interval AttentionShape::queries_of(int64_t key) const {
  const int64_t beside = key - (keys - queries);  // the query at the key's position
  Interval seen{0, queries};
  if (window > 0) seen = {beside - effective_window() + 1, beside + effective_window()};
  if (causal) seen.begin = beside;
  const int64_t begin = std::clamp<int64_t>(seen.begin, 0, queries);
  return {begin, std::clamp(seen.end, begin, queries)};
}

template <class T>
void hide_unseen(const AttentionShape& shape, Interval queries, Interval keys, T* scores) {
  if (!shape.causal && shape.window == 0) return;
  constexpr T kUnseen = -std::numeric_limits<T>::infinity();
  for (int64_t key = keys.begin; key < keys.end; ++key, scores += kBlockOfQueries) {
    const Interval seen = shape.queries_of(key);
    std::fill(scores, scores + std::clamp<int64_t>(seen.begin - queries.begin, 0, queries.size()), kUnseen);
    std::fill(scores + std::clamp<int64_t>(seen.end - queries.begin, 0, queries.size()), scores + queries.size(),
              kUnseen);
  }
}
template void hide_unseen(const AttentionShape&, Interval, Interval, float*);
template void hide_unseen(const AttentionShape&, Interval, Interval, double*);

template <class T>
HeadRows<T>::HeadRows(const Value& value) {
  Array array = read(value);
  const int64_t width = array.shape[3], row = padded<T>(width);
  if ((array.strides[3] != 1 && width > 1) || width != row) {
    Array copied = array;
    copied.strides = {array.shape[1] * array.shape[2] * row, array.shape[2] * row, row, 1};
    const std::size_t bytes = static_cast<std::size_t>(array.shape[0] * copied.strides[0]) * sizeof(T);
    held_ = make_ref<Memory>(bytes);
    copied.data = held_->bytes();
    std::memset(copied.data, 0, bytes);
    copy(array, copied);
    array = copied;
  }
  data_ = array.as<const T>();
  batch_ = array.strides[0];
  head_ = array.strides[1];
  row_ = array.strides[2];
}
template class HeadRows<float>;
template class HeadRows<double>;

ScoreOperand::ScoreOperand(const Value& value, const AttentionShape& s) {
  if (value.empty()) return;
  const Array array = broadcast_to(read(value), {s.batch, s.heads, s.queries, s.keys});
  data = array.data;
  strides = array.strides;
}

template <class T>
void transpose_queries(const T* x, int64_t row, int64_t rows, int64_t width, T factor, T* z) {
  const int64_t lanes = padded<T>(rows);
  for (int64_t j = 0; j < width; ++j, z += kBlockOfQueries) {
    for (int64_t i = 0; i < rows; ++i) z[i] = x[i * row + j] * factor;
    std::fill(z + rows, z + lanes, T{0});
  }
}
template void transpose_queries(const float*, int64_t, int64_t, int64_t, float, float*);
template void transpose_queries(const double*, int64_t, int64_t, int64_t, double, double*);

template <class T>
void multiply_block(Strided<T> a, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t m, int64_t n, int64_t k,
                    bool add) {
  if (m == 0 || n == 0) return;
  constexpr int64_t kDepth = 128, kWidestPanel = 2 * 64 / sizeof(T);  // terms at a time, whose panel stays in the cache
  T panel[kDepth * kWidestPanel];
  const ProductTiles<T>& tiles = product_tiles<T>();
  for (int64_t first = 0; first == 0 || first < k; first += kDepth)
    tiles.multiply({a.data + first * a.column, a.row, a.column, a.row * rows_of_tile(m, tiles.rows)},
                   {b + first * b_row, b_row, 1}, {c, c_row, c, c_row}, m, n, std::min(kDepth, k - first),
                   add || first > 0, panel);
}
template void multiply_block(Strided<float>, const float*, int64_t, float*, int64_t, int64_t, int64_t, int64_t, bool);
template void multiply_block(Strided<double>, const double*, int64_t, double*, int64_t, int64_t, int64_t, int64_t,
                             bool);

namespace {

/// A bias of -inf hides the key, whatever its score is.
template <class T>
T biased(T score, T bias) {
  return bias == -std::numeric_limits<T>::infinity() ? bias : score + bias;
}

}  // namespace

template <class T>
void ScoreBlocks<T>::compute(int64_t batch, int64_t head, Interval queries, Interval keys, const T* transposed,
                             T* scores, T* slopes) const {
  const AttentionBlocks<T> blocks = attention_blocks<T>();
  constexpr T kUnseen = -std::numeric_limits<T>::infinity();
  const int64_t lanes = padded<T>(queries.size());
  multiply_block<T>({k.at(batch, head / shape.group(), keys.begin), k.row(), 1}, transposed, kBlockOfQueries, scores,
                    kBlockOfQueries, keys.size(), lanes, shape.width, false);
  if (shape.softcap > 0) blocks.cap(scores, slopes, keys.size(), lanes, static_cast<T>(shape.softcap));
  T* const first = scores;
  for (int64_t key = keys.begin; (bias.data || mask.data) && key < keys.end; ++key, scores += kBlockOfQueries) {
    if (bias.data) {
      const T* add = reinterpret_cast<const T*>(bias.data) + bias.offset(batch, head, queries.begin, key);
      for (int64_t i = 0; i < queries.size(); ++i) scores[i] = biased(scores[i], add[i * bias.strides[2]]);
    }
    if (mask.data) {
      const std::byte* seen = mask.data + mask.offset(batch, head, queries.begin, key);
      for (int64_t i = 0; i < queries.size(); ++i)
        if (seen[i * mask.strides[2]] == std::byte{0}) scores[i] = kUnseen;
    }
  }
  hide_unseen(shape, queries, keys, first);
}

template <class T>
void ScoreBlocks<T>::compute_row(int64_t batch, int64_t head, int64_t query, Interval keys, const T* q,
                                 T* scores) const {
  const AttentionBlocks<T> blocks = attention_blocks<T>();
  constexpr T kUnseen = -std::numeric_limits<T>::infinity();
  const int64_t count = keys.size(), lanes = padded<T>(count);
  dots<T>()(q, 0, k.at(batch, head / shape.group(), keys.begin), k.row(), scores, 0, 1, 1, count, shape.width, true);
  if (shape.softcap > 0) blocks.cap(scores, nullptr, 1, lanes, static_cast<T>(shape.softcap));
  if (bias.data) {
    const T* add = reinterpret_cast<const T*>(bias.data) + bias.offset(batch, head, query, keys.begin);
    for (int64_t i = 0; i < count; ++i) scores[i] = biased(scores[i], add[i * bias.strides[3]]);
  }
  if (mask.data) {
    const std::byte* seen = mask.data + mask.offset(batch, head, query, keys.begin);
    for (int64_t i = 0; i < count; ++i)
      if (seen[i * mask.strides[3]] == std::byte{0}) scores[i] = kUnseen;
  }
  std::fill(scores + count, scores + lanes, kUnseen);
}
template struct ScoreBlocks<float>;
template struct ScoreBlocks<double>;

namespace {

template <class T>
struct Forward {
  const AttentionShape& shape;
  ScoreBlocks<T> scores;
  HeadRows<T> q, v;
  T *output, *log_sums;

  int64_t workspace(bool handles_non_finite) const {
    const int64_t wide = padded<T>(shape.value_width),
                  numbers = kBlockOfQueries * (padded<T>(shape.width) + wide + kBlockOfKeys + 3);
    const int64_t more =
        handles_non_finite ? kBlockOfKeys * wide * static_cast<int64_t>(sizeof(T)) + kBlockOfQueries * kBlockOfKeys : 0;
    return (numbers + 9 * padded<T>(1)) * static_cast<int64_t>(sizeof(T)) + more + 64;
  }

  /// Adds the values of a block of keys, times their weights `softmax_weights`, to the sums of the queries. The weights
  /// of neighbouring keys are contiguous for a single query, and kBlockOfQueries apart otherwise. `hidden` is not null
  /// if v may hold values that are not finite.
  void add_values(int64_t batch, int64_t head, Interval keys, int64_t queries, const T* softmax_weights,
                  const std::uint8_t* hidden, T* finite, T* sums) const {
    const int64_t wide = padded<T>(shape.value_width), step = queries == 1 ? 1 : kBlockOfQueries;
    const T* values = v.at(batch, head / shape.group(), keys.begin);
    const Strided<T> left{softmax_weights, queries == 1 ? 0 : 1, step};
    bool dirty = false;
    for (int64_t j = 0; hidden && j < keys.size(); ++j)
      dirty = copy_finite(values + j * v.row(), wide, finite + j * wide) || dirty;
    multiply_block<T>(left, dirty ? finite : values, dirty ? wide : v.row(), sums, wide, queries, wide, keys.size(),
                      true);
    if (dirty)
      add_not_finite<T>({softmax_weights, hidden, step}, true, values, v.row(), keys.size(), shape.value_width, sums,
                        wide, queries);
  }

  /// Computes a single query: the lanes of a vector hold its keys, where blocks of several queries have these in lanes.
  void run_row(int64_t batch, int64_t head, int64_t query, bool handles_non_finite) const {
    Workspace workspace(this->workspace(handles_non_finite));
    const AttentionBlocks<T> blocks = attention_blocks<T>();
    const int64_t wide = padded<T>(shape.value_width), place = (batch * shape.heads + head) * shape.queries + query;
    T *scaled = workspace.take<T>(shape.width), *block = workspace.take<T>(kBlockOfKeys),
      *sums = workspace.take<T>(wide), largest = -std::numeric_limits<T>::infinity(), total = 0;
    T* const finite = handles_non_finite ? workspace.take<T>(kBlockOfKeys * wide) : nullptr;
    std::uint8_t* const hidden = handles_non_finite ? workspace.take<std::uint8_t>(kBlockOfKeys) : nullptr;
    const T *from = q.at(batch, head, query), scale = static_cast<T>(shape.scale);
    for (int64_t j = 0; j < shape.width; ++j) scaled[j] = from[j] * scale;
    std::fill_n(sums, wide, T{0});
    const Interval seen = shape.keys_of({query, query + 1});
    for (int64_t key = seen.begin; key < seen.end; key += kBlockOfKeys) {
      const Interval keys{key, std::min(key + kBlockOfKeys, seen.end)};
      scores.compute_row(batch, head, query, keys, scaled, block);
      if (hidden) note_hidden(block, keys.size(), hidden);
      const T rescale = blocks.row_softmax(block, padded<T>(keys.size()), largest, total);
      blocks.scale_rows(sums, 1, wide, &rescale);
      add_values(batch, head, keys, 1, block, hidden, finite, sums);
    }
    finish(place, sums, largest, total);
  }

  void finish(int64_t place, const T* sums, T largest, T total) const {
    const T share = total == 0 ? T{0} : 1 / total;
    T* to = output + place * shape.value_width;
    for (int64_t j = 0; j < shape.value_width; ++j) to[j] = sums[j] * share;
    log_sums[place] = total == 0 ? -std::numeric_limits<T>::infinity() : largest + std::log(total);
  }

  void run_block(int64_t batch, int64_t head, Interval queries, bool handles_non_finite) const {
    if (queries.size() == 1) return run_row(batch, head, queries.begin, handles_non_finite);
    Workspace workspace(this->workspace(handles_non_finite));
    const AttentionBlocks<T> blocks = attention_blocks<T>();
    const int64_t wide = padded<T>(shape.value_width), lanes = padded<T>(queries.size());
    T* transposed = workspace.take<T>(kBlockOfQueries * shape.width);
    T* block = workspace.take<T>(kBlockOfQueries * kBlockOfKeys);
    T* sums = workspace.take<T>(kBlockOfQueries * wide);
    T *largest = workspace.take<T>(kBlockOfQueries), *total = workspace.take<T>(kBlockOfQueries),
      *rescale = workspace.take<T>(kBlockOfQueries);
    T* const finite = handles_non_finite ? workspace.take<T>(kBlockOfKeys * wide) : nullptr;
    std::uint8_t* const hidden =
        handles_non_finite ? workspace.take<std::uint8_t>(kBlockOfQueries * kBlockOfKeys) : nullptr;
    transpose_queries(q.at(batch, head, queries.begin), q.row(), queries.size(), shape.width,
                      static_cast<T>(shape.scale), transposed);
    std::fill_n(largest, lanes, -std::numeric_limits<T>::infinity());
    std::fill_n(total, lanes, T{0});
    std::fill_n(sums, queries.size() * wide, T{0});

    const Interval seen = shape.keys_of(queries);
    for (int64_t key = seen.begin; key < seen.end; key += kBlockOfKeys) {
      const Interval keys{key, std::min(key + kBlockOfKeys, seen.end)};
      scores.compute(batch, head, queries, keys, transposed, block, nullptr);
      for (int64_t row = 0; hidden && row < keys.size(); ++row)
        note_hidden(block + row * kBlockOfQueries, queries.size(), hidden + row * kBlockOfQueries);
      blocks.softmax(block, keys.size(), lanes, largest, total, rescale);
      blocks.scale_rows(sums, queries.size(), wide, rescale);
      add_values(batch, head, keys, queries.size(), block, hidden, finite, sums);
    }

    const int64_t first = (batch * shape.heads + head) * shape.queries + queries.begin;
    for (int64_t i = 0; i < queries.size(); ++i) finish(first + i, sums + i * wide, largest[i], total[i]);
  }

  void run(int64_t batch, int64_t head, Interval queries) const {
    run_block(batch, head, queries, false);
    const int64_t first = (batch * shape.heads + head) * shape.queries + queries.begin;
    if (scores.may_hide() && has_nan(output + first * shape.value_width, queries.size() * shape.value_width))
      run_block(batch, head, queries, true);
  }
};

template <class T>
void forward(const op::Attention& op, Call call) {
  const AttentionShape shape = AttentionShape::of(op, call.in);
  const Forward<T> forward{shape,
                           {op, shape, call.in},
                           HeadRows<T>(call.in[op::Attention::q]),
                           HeadRows<T>(call.in[op::Attention::v]),
                           allocate(call.out[0]).template as<T>(),
                           allocate(call.out[1]).template as<T>()};
  const int64_t blocks = (shape.queries + kBlockOfQueries - 1) / kBlockOfQueries;
  const int64_t cost = std::min(kBlockOfQueries, shape.queries) * shape.keys * (shape.width + shape.value_width + 8);
  const int64_t grain = std::max<int64_t>(1, kMinMultiplicationsPerThread / std::max<int64_t>(cost, 1));
  parallel_for(shape.batch * shape.heads * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task / blocks, from = task % blocks * kBlockOfQueries;
      forward.run(head / shape.heads, head % shape.heads, {from, std::min(from + kBlockOfQueries, shape.queries)});
    }
  });
}

}  // namespace

bool run(const op::Attention& op, Call call) {
  switch (call.in[op::Attention::q].dtype()) {
    case DType::F32: forward<float>(op, call); return true;
    case DType::F64: forward<double>(op, call); return true;
    default: return false;
  }
}

}  // namespace kiln::cpu::simd
