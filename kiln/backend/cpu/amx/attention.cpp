// Forward attention of bfloat16 on tiles, in the manner of simd/attention for float32: the scores of a block are
// transposed, with a row for each key, and so are the sums. All threads pack keys and values as left operands
// beforehand. Scores become softmax weights in float32 and are rounded once, for the second product.
#include "kiln/backend/cpu/simd/attention/attention.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::amx {
namespace {

using cpu::divide_up, cpu::round_up;
using simd::AttentionShape, simd::Interval, simd::kBlockOfQueries;
using std::int64_t;
using std::uint16_t;

constexpr int64_t kKeys = 128;  // keys of a block: whole tiles. bench: suite sdpa_*

bool is_finite(uint16_t x) { return (x & 0x7f80) != 0x7f80; }

/// An operand [batch, heads, time, width] whose rows are contiguous.
struct Heads {
  Value held;
  const uint16_t* data;
  int64_t batch, head, row;

  explicit Heads(const Value& value) {
    Array array = read(value);
    if (array.shape[3] > 1 && array.strides[3] != 1) {
      array = read_contiguous(value, held);
      array.strides = contiguous_strides(array.shape);
    }
    data = array.as<const uint16_t>();
    batch = array.strides[0], head = array.strides[1], row = array.strides[2];
  }
  const uint16_t* at(int64_t b, int64_t h, int64_t time) const { return data + b * batch + h * head + time * row; }
};

class Forward {
 public:
  Forward(const AttentionShape& shape, Inputs in, uint16_t* output, float* log_sums)
      : shape_(shape),
        q_(in[op::Attention::q]),
        k_(in[op::Attention::k]),
        v_(in[op::Attention::v]),
        output_(output),
        log_sums_(log_sums),
        keys_size_(packed_size(round_up(shape.keys, kBlock), shape.width)),
        values_size_(packed_size(round_up(shape.value_width, kBlock), shape.keys)),
        packed_(static_cast<std::size_t>(shape.batch * shape.kv_heads * (keys_size_ + values_size_)) *
                sizeof(uint16_t)),
        not_finite_(static_cast<std::size_t>(shape.batch * shape.kv_heads)) {}

  void run() const {
    parallel_for(shape_.batch * shape_.kv_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) pack(head);
    });
    const int64_t blocks = divide_up(shape_.queries, kBlockOfQueries),
                  some = round_up(divide_up(shape_.queries, blocks), kTile), count = divide_up(shape_.queries, some);
    parallel_for(shape_.batch * shape_.heads * count, 1, [&](int64_t begin, int64_t end) {
      const Tiles tiles;
      for (int64_t task = begin; task < end; ++task) {
        const int64_t first = task % count * some;
        run_block(task / count, {first, std::min(first + some, shape_.queries)});
      }
    });
  }

 private:
  uint16_t* keys_of(int64_t kv_head) const {
    return reinterpret_cast<uint16_t*>(packed_.bytes()) + kv_head * (keys_size_ + values_size_);
  }
  void pack(int64_t head) const {
    const int64_t b = head / shape_.kv_heads, h = head % shape_.kv_heads;
    uint16_t *const keys = keys_of(head), *const values = keys + keys_size_;
    for (int64_t i = 0; i < shape_.keys; i += kBlock)
      pack_left({k_.at(b, h, i), k_.row, 1}, std::min(kBlock, shape_.keys - i), shape_.width,
                keys + packed_size(i, shape_.width));
    const std::vector<uint16_t> finite = finite_values(head);
    const uint16_t* const first = finite.empty() ? v_.at(b, h, 0) : finite.data();
    const int64_t row = finite.empty() ? v_.row : shape_.value_width;
    for (int64_t i = 0; i < shape_.value_width; i += kBlock)
      pack_left({first + i, 1, row}, std::min(kBlock, shape_.value_width - i), shape_.keys,
                values + packed_size(i, shape_.keys));
  }
  /// Records which keys have values that are not finite, and returns the values with 0 in their place; nothing if all
  /// are finite, or every query sees every key. A softmax weight of 0 times such a value would be NaN: they are added
  /// only for the queries that see them.
  std::vector<uint16_t> finite_values(int64_t head) const {
    std::vector<int64_t>& found = not_finite_[static_cast<std::size_t>(head)];
    const auto row = [&](int64_t key) {
      return std::span(v_.at(head / shape_.kv_heads, head % shape_.kv_heads, key),
                       static_cast<std::size_t>(shape_.value_width));
    };
    for (int64_t key = 0; shape_.may_hide() && key < shape_.keys; ++key)
      if (!std::ranges::all_of(row(key), is_finite)) found.push_back(key);
    std::vector<uint16_t> values;
    for (int64_t key = 0; !found.empty() && key < shape_.keys; ++key)
      for (const uint16_t value : row(key)) values.push_back(is_finite(value) ? value : uint16_t{0});
    return values;
  }
  /// Adds the values that finite_values() left out of a block of keys.
  void add_not_finite(int64_t kv_head_of_all, Interval queries, Interval keys, const float* softmax_weights,
                      float* sums) const {
    for (const int64_t key : not_finite_[static_cast<std::size_t>(kv_head_of_all)]) {
      if (key < keys.begin || key >= keys.end) continue;
      const uint16_t* const values = v_.at(kv_head_of_all / shape_.kv_heads, kv_head_of_all % shape_.kv_heads, key);
      const Interval seeing = shape_.queries_of(key);
      for (int64_t j = 0; j < shape_.value_width; ++j)
        for (int64_t i = std::max(seeing.begin, queries.begin);
             !is_finite(values[j]) && i < std::min(seeing.end, queries.end); ++i)
          sums[j * kBlockOfQueries + i - queries.begin] +=
              softmax_weights[(key - keys.begin) * kBlockOfQueries + i - queries.begin] *
              std::bit_cast<float>(static_cast<std::uint32_t>(values[j]) << 16);
    }
  }

  /// Computes the queries of one head over the keys that they see.
  void run_block(int64_t head_of_all, Interval queries) const {
    const int64_t b = head_of_all / shape_.heads, h = head_of_all % shape_.heads, count = queries.size();
    const int64_t width = round_up(shape_.width, kPairs), wide = round_up(shape_.value_width, kBlock);
    const uint16_t* const keys = keys_of(b * shape_.kv_heads + h / shape_.group());
    const uint16_t* const values = keys + keys_size_;
    const int64_t lanes = round_up(count, kTile);
    simd::Workspace workspace((kBlockOfQueries * (kKeys + wide + 3)) * 4 + kBlockOfQueries * (width + kKeys) * 2 + 512);
    float* const scores = workspace.take<float>(kKeys * kBlockOfQueries);
    float* const sums = workspace.take<float>(wide * kBlockOfQueries);
    float *const largest = workspace.take<float>(kBlockOfQueries),
                 *const total = workspace.take<float>(kBlockOfQueries),
                 *const rescale = workspace.take<float>(kBlockOfQueries);
    uint16_t* const packed_queries = workspace.take<uint16_t>(kBlockOfQueries * width);
    uint16_t* const softmax_weights = workspace.take<uint16_t>(kBlockOfQueries * kKeys);

    std::fill_n(largest, lanes, -std::numeric_limits<float>::infinity());
    std::fill_n(total, lanes, 0.0f);
    std::fill_n(sums, wide * kBlockOfQueries, 0.0f);
    for (int64_t i = 0; i < count; i += kBlock)
      pack_right({q_.at(b, h, queries.begin + i), q_.row, 1}, std::min(kBlock, count - i), shape_.width,
                 packed_queries + i * width);

    const Interval seen = shape_.keys_of(queries);
    for (int64_t key = seen.begin / kBlock * kBlock; key < seen.end; key += kKeys) {
      const Interval block{key, std::min(key + kKeys, seen.end)};
      for (int64_t i = 0; i < block.size(); i += kBlock)
        for (int64_t j = 0; j < count; j += kBlock)
          multiply(keys + (key + i) * width, packed_queries + j * width, shape_.keys - key - i, count - j, width, false,
                   scores + i * kBlockOfQueries + j, in_rows(kBlockOfQueries));
      scale(scores, kBlockOfQueries, block.size(), count, static_cast<float>(shape_.scale));
      simd::hide_unseen(shape_, queries, block, scores);
      simd::attention_blocks<float>().softmax(scores, block.size(), lanes, largest, total, rescale);
      scale_columns(sums, kBlockOfQueries, shape_.value_width, count, rescale);
      const int64_t depth = round_up(block.size(), kPairs);
      for (int64_t j = 0; j < count; j += kBlock) {
        const int64_t columns = std::min(kBlock, count - j);
        round_right(scores + j, kBlockOfQueries, columns, block.size(), softmax_weights);
        for (int64_t i = 0; i < shape_.value_width; i += kBlock) {
          const int64_t rows = std::min(kBlock, shape_.value_width - i);
          multiply(values + packed_size(i, shape_.keys) + key * round_up(rows, kTile), softmax_weights, rows, columns,
                   depth, true, sums + i * kBlockOfQueries + j, in_rows(kBlockOfQueries));
        }
      }
      add_not_finite(b * shape_.kv_heads + h / shape_.group(), queries, block, scores, sums);
    }

    const int64_t place = head_of_all * shape_.queries + queries.begin;
    for (int64_t i = 0; i < lanes; ++i) {
      rescale[i] = total[i] == 0 ? 0 : 1 / total[i];
      if (i < count) log_sums_[place + i] = largest[i] + std::log(total[i]);
    }
    store_transposed(sums, kBlockOfQueries, shape_.value_width, count, rescale, output_ + place * shape_.value_width,
                     shape_.value_width);
  }

  const AttentionShape& shape_;
  Heads q_, k_, v_;
  uint16_t* output_;
  float* log_sums_;
  int64_t keys_size_, values_size_;
  Memory packed_;
  mutable std::vector<std::vector<int64_t>> not_finite_;  // the keys of each head
};

}  // namespace

bool run(const op::Attention& op, Call call) {
  using Slot = op::Attention::Slot;
  const Inputs in = call.in;
  if (in[Slot::q].dtype() != DType::BF16) return false;
  if (!in[Slot::mask].empty() || !in[Slot::bias].empty() || !in[Slot::softcap].empty()) return false;
  const AttentionShape shape = AttentionShape::of(op, in);
  if (shape.queries < kTile || shape.keys < kTile || shape.width == 0 || shape.value_width == 0 ||
      shape.batch * shape.heads == 0)
    return false;
  const Array output = allocate(call.out[0]), log_sums = allocate(call.out[1]);
  Forward(shape, in, output.as<uint16_t>(), log_sums.as<float>()).run();
  return true;
}

}  // namespace kiln::cpu::amx
