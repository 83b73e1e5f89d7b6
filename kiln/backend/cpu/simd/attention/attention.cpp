// Attention forward: each task takes a block of queries through all keys that they see, a block at a time, with the
// running maximum and sum of Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
#include "kiln/backend/cpu/simd/attention/attention.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

Interval AttentionShape::keys_of(Interval block) const {
  const int64_t first = keys - queries + block.begin, last = keys - queries + block.end - 1;  // their positions
  Interval seen{0, keys};
  if (window > 0) seen = {first - reach() + 1, last + reach()};
  if (causal) seen.end = last + 1;
  const int64_t begin = std::clamp<int64_t>(seen.begin, 0, keys);
  return {begin, std::clamp(seen.end, begin, keys)};
}

Interval AttentionShape::queries_of(int64_t key) const {
  const int64_t beside = key - (keys - queries);  // the query at the key's position
  Interval seen{0, queries};
  if (window > 0) seen = {beside - reach() + 1, beside + reach()};
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
void turn_queries(const T* x, int64_t row, int64_t rows, int64_t width, T factor, T* z) {
  const int64_t lanes = padded<T>(rows);
  for (int64_t j = 0; j < width; ++j, z += kBlockOfQueries) {
    for (int64_t i = 0; i < rows; ++i) z[i] = x[i * row + j] * factor;
    std::fill(z + rows, z + lanes, T{0});
  }
}
template void turn_queries(const float*, int64_t, int64_t, int64_t, float, float*);
template void turn_queries(const double*, int64_t, int64_t, int64_t, double, double*);

template <class T>
void ScoreBlocks<T>::compute(int64_t batch, int64_t head, Interval queries, Interval keys, const T* turned, T* scores,
                             T* slopes) const {
  const AttentionBlocks<T> blocks = attention_blocks<T>();
  constexpr T kUnseen = -std::numeric_limits<T>::infinity();
  const int64_t lanes = padded<T>(queries.size());
  blocks.product({k.at(batch, head / shape.group(), keys.begin), k.row(), 1}, turned, kBlockOfQueries, scores,
                 kBlockOfQueries, keys.size(), lanes, shape.width, false);
  if (shape.softcap > 0) blocks.cap(scores, slopes, keys.size(), lanes, static_cast<T>(shape.softcap));
  T* const first = scores;
  for (int64_t key = keys.begin; (bias.data || mask.data) && key < keys.end; ++key, scores += kBlockOfQueries) {
    if (bias.data) {
      const T* add = reinterpret_cast<const T*>(bias.data) + bias.offset(batch, head, queries.begin, key);
      for (int64_t i = 0; i < queries.size(); ++i) scores[i] += add[i * bias.strides[2]];
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
  blocks.row_scores(q, k.at(batch, head / shape.group(), keys.begin), k.row(), scores, count, shape.width);
  if (shape.softcap > 0) blocks.cap(scores, nullptr, 1, lanes, static_cast<T>(shape.softcap));
  if (bias.data) {
    const T* add = reinterpret_cast<const T*>(bias.data) + bias.offset(batch, head, query, keys.begin);
    for (int64_t i = 0; i < count; ++i) scores[i] += add[i * bias.strides[3]];
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

  int64_t workspace() const {
    const int64_t numbers =
        kBlockOfQueries * (padded<T>(shape.width) + padded<T>(shape.value_width) + kBlockOfKeys + 3);
    return (numbers + 8 * padded<T>(1)) * static_cast<int64_t>(sizeof(T));
  }

  /// A single query: its keys go through the lanes, where others have their queries.
  void run_row(int64_t batch, int64_t head, int64_t query, Workspace workspace) const {
    const AttentionBlocks<T> blocks = attention_blocks<T>();
    const int64_t wide = padded<T>(shape.value_width), place = (batch * shape.heads + head) * shape.queries + query;
    T *scaled = workspace.take<T>(shape.width), *block = workspace.take<T>(kBlockOfKeys),
      *sums = workspace.take<T>(wide), largest = -std::numeric_limits<T>::infinity(), total = 0;
    const T *from = q.at(batch, head, query), scale = static_cast<T>(shape.scale);
    for (int64_t j = 0; j < shape.width; ++j) scaled[j] = from[j] * scale;
    std::fill_n(sums, wide, T{0});
    const Interval seen = shape.keys_of({query, query + 1});
    for (int64_t key = seen.begin; key < seen.end; key += kBlockOfKeys) {
      const Interval keys{key, std::min(key + kBlockOfKeys, seen.end)};
      scores.compute_row(batch, head, query, keys, scaled, block);
      const T rescale = blocks.row_softmax(block, padded<T>(keys.size()), largest, total);
      blocks.scale_rows(sums, 1, wide, &rescale);
      blocks.product({block, 0, 1}, v.at(batch, head / shape.group(), key), v.row(), sums, wide, 1, wide, keys.size(),
                     true);
    }
    finish(place, sums, largest, total);
  }

  void finish(int64_t place, const T* sums, T largest, T total) const {
    const T share = total == 0 ? T{0} : 1 / total;
    T* to = output + place * shape.value_width;
    for (int64_t j = 0; j < shape.value_width; ++j) to[j] = sums[j] * share;
    log_sums[place] = total == 0 ? -std::numeric_limits<T>::infinity() : largest + std::log(total);
  }

  void run(int64_t batch, int64_t head, Interval queries, Workspace workspace) const {
    if (queries.size() == 1) return run_row(batch, head, queries.begin, std::move(workspace));
    const AttentionBlocks<T> blocks = attention_blocks<T>();
    const int64_t wide = padded<T>(shape.value_width), lanes = padded<T>(queries.size());
    T* turned = workspace.take<T>(kBlockOfQueries * shape.width);
    T* block = workspace.take<T>(kBlockOfQueries * kBlockOfKeys);
    T* sums = workspace.take<T>(kBlockOfQueries * wide);
    T *largest = workspace.take<T>(kBlockOfQueries), *total = workspace.take<T>(kBlockOfQueries),
      *rescale = workspace.take<T>(kBlockOfQueries);
    turn_queries(q.at(batch, head, queries.begin), q.row(), queries.size(), shape.width, static_cast<T>(shape.scale),
                 turned);
    std::fill_n(largest, lanes, -std::numeric_limits<T>::infinity());
    std::fill_n(total, lanes, T{0});
    std::fill_n(sums, queries.size() * wide, T{0});

    const Interval seen = shape.keys_of(queries);
    for (int64_t key = seen.begin; key < seen.end; key += kBlockOfKeys) {
      const Interval keys{key, std::min(key + kBlockOfKeys, seen.end)};
      scores.compute(batch, head, queries, keys, turned, block, nullptr);
      blocks.softmax(block, keys.size(), lanes, largest, total, rescale);
      blocks.scale_rows(sums, queries.size(), wide, rescale);
      blocks.product({block, 1, kBlockOfQueries}, v.at(batch, head / shape.group(), key), v.row(), sums, wide,
                     queries.size(), wide, keys.size(), true);
    }

    const int64_t first = (batch * shape.heads + head) * shape.queries + queries.begin;
    for (int64_t i = 0; i < queries.size(); ++i) finish(first + i, sums + i * wide, largest[i], total[i]);
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
  const int64_t grain = std::max<int64_t>(1, kWorthAThread / std::max<int64_t>(cost, 1));
  parallel_for(shape.batch * shape.heads * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task / blocks, from = task % blocks * kBlockOfQueries;
      forward.run(head / shape.heads, head % shape.heads, {from, std::min(from + kBlockOfQueries, shape.queries)},
                  Workspace(forward.workspace()));
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
