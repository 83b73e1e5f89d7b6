// The backward pass of attention. The softmax weights of keys ("shares") are recomputed from the logarithms of their
// sums. A task computes a chunk of keys of one head: it visits all queries that see them. The parts of the gradient of
// q that different tasks compute are added at the end, in the order of keys. For the gradient of a bias that several
// heads or batches share, one task computes all of these.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/attention/attention.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

using op::AttentionGrad;
using std::int64_t;

/// The number of tasks into which a call with fewer heads is split, so that as many threads have work.
constexpr int64_t kTasks = 16;

/// The size of a task.
struct TaskSize {
  int64_t batches = 1, heads = 1, keys = 0;  // the number of each that one task computes
  int64_t chunks = 1;                        // the number of chunks that the keys are split into
};

TaskSize task_size(const AttentionShape& s, const Shape* bias) {
  TaskSize result;
  const auto shares = [&](int dim) {  // whether the bias is broadcast along dimension `dim`, counted from the end
    return bias && (bias->size() < dim || (*bias)[bias->size() - dim] == 1);
  };
  if (shares(4)) result.batches = s.batch;
  if (shares(3)) result.heads = s.kv_heads;
  const int64_t tasks = s.batch / std::max<int64_t>(result.batches, 1) * (s.kv_heads / result.heads);
  const int64_t most = (s.keys + kBlockOfKeys - 1) / kBlockOfKeys;
  const int64_t worth =
      s.batch * s.heads * s.queries * s.keys * (s.width + s.value_width + 8) / kMinMultiplicationsPerThread;
  const int64_t wanted = shares(1) ? 1 : std::clamp(kTasks / std::max<int64_t>(tasks, 1), int64_t{1}, worth + 1);
  const int64_t blocks = (most + wanted - 1) / std::max<int64_t>(wanted, 1);
  result.keys = std::max<int64_t>(blocks, 1) * kBlockOfKeys;
  result.chunks = std::max<int64_t>((s.keys + result.keys - 1) / result.keys, 1);
  return result;
}

/// The operands that all tasks read.
template <class T>
struct Operands {
  const AttentionShape& shape;
  ScoreBlocks<T> scores;
  HeadRows<T> q, v, g;
  const T *log_sums, *deltas;

  Operands(const AttentionGrad& op, const AttentionShape& shape, Inputs in, const Array& log_sums, const Array& deltas)
      : shape(shape),
        scores(op, shape, in),
        q(in[AttentionGrad::q]),
        v(in[AttentionGrad::v]),
        g(in[AttentionGrad::grad]),
        log_sums(log_sums.as<const T>()),
        deltas(deltas.as<const T>()) {}
};

constexpr int64_t kLanes = kBlockOfQueries;

/// A block of queries of one head, with the softmax weights of some keys for them and the gradients of the scores.
template <class T>
class QueryBlock {
 public:
  /// If `handles_non_finite`, values that are not finite reach no result from which they are hidden.
  QueryBlock(const Operands<T>& from, Workspace& workspace, bool handles_non_finite)
      : from_(from),
        transposed_q_(workspace.take<T>(kLanes * from.shape.width)),
        transposed_g_(workspace.take<T>(kLanes * from.shape.value_width)),
        shift_(workspace.take<T>(kLanes)),
        delta_(workspace.take<T>(kLanes)),
        softmax_weights_(workspace.take<T>(kLanes * kBlockOfKeys)),
        inner_(workspace.take<T>(kLanes * kBlockOfKeys)),
        slopes_(from.shape.softcap > 0 ? workspace.take<T>(kLanes * kBlockOfKeys) : nullptr),
        finite_(handles_non_finite
                    ? workspace.take<T>(kLanes * padded<T>(std::max(from.shape.width, from.shape.value_width)))
                    : nullptr),
        hidden_(handles_non_finite ? workspace.take<std::uint8_t>(kLanes * kBlockOfKeys) : nullptr) {}
  static int64_t numbers(const AttentionShape& s, bool handles_non_finite) {
    const int64_t more = handles_non_finite ? kLanes * (padded<T>(std::max(s.width, s.value_width)) + kBlockOfKeys) : 0;
    return kLanes * (s.width + s.value_width + 2 + 3 * kBlockOfKeys) + 9 * padded<T>(1) + more;
  }

  void load(int64_t batch, int64_t head, Interval queries) {
    const AttentionShape& s = from_.shape;
    batch_ = batch, head_ = head, queries_ = queries;
    const int64_t count = queries.size(), first = (batch * s.heads + head) * s.queries + queries.begin;
    transpose_queries(q(), from_.q.row(), count, s.width, static_cast<T>(s.scale), transposed_q_);
    transpose_queries(g(), from_.g.row(), count, s.value_width, T{1}, transposed_g_);
    std::fill_n(shift_, padded<T>(count), T{0});
    std::fill_n(delta_, padded<T>(count), T{0});
    for (int64_t i = 0; i < count; ++i) {
      const T log_sum = from_.log_sums[first + i];
      shift_[i] = log_sum == -std::numeric_limits<T>::infinity() ? T{0} : log_sum;
      delta_[i] = from_.deltas[first + i];
    }
  }
  const T* q() const { return from_.q.at(batch_, head_, queries_.begin); }
  const T* g() const { return from_.g.at(batch_, head_, queries_.begin); }
  int64_t count() const { return queries_.size(); }

  /// Computes softmax_weights(), the softmax weights of these keys, and inner(), the gradient of the scores.
  void compute(Interval keys) {
    const AttentionShape& s = from_.shape;
    const int64_t lanes = padded<T>(count());
    from_.scores.compute(batch_, head_, queries_, keys, transposed_q_, softmax_weights_, slopes_);
    for (int64_t row = 0; hidden_ && row < keys.size(); ++row)
      note_hidden(softmax_weights_ + row * kLanes, count(), hidden_ + row * kLanes);
    blocks_.exponentiate(softmax_weights_, keys.size(), lanes, shift_);
    clear(keys, softmax_weights_);
    multiply_block<T>({from_.v.at(batch_, head_ / s.group(), keys.begin), from_.v.row(), 1}, transposed_g_, kLanes,
                      inner_, kLanes, keys.size(), lanes, s.value_width, false);
    blocks_.score_gradient(softmax_weights_, inner_, keys.size(), lanes, delta_);
    clear(keys, inner_);
  }
  /// Multiplies inner() by the derivatives of the softcap, if there is one.
  void uncap(Interval keys) {
    if (!slopes_) return;
    blocks_.multiply(inner_, slopes_, keys.size(), padded<T>(count()));
    clear(keys, inner_);
  }
  /// sums [keys, width] += weights times x, which has a row for each query. `weights` is softmax_weights() or inner().
  void add_to_keys(Interval keys, const T* weights, const T* x, int64_t row, int64_t width, T* sums) const {
    const int64_t whole = padded<T>(width);
    const T* finite = finite_of(x, row, count(), whole);
    multiply_block<T>({weights, kLanes, 1}, finite ? finite : x, finite ? whole : row, sums, whole, keys.size(), whole,
                      count(), true);
    if (finite) add_not_finite<T>({weights, hidden_, kLanes}, false, x, row, count(), width, sums, whole, keys.size());
  }
  /// sums [queries, width] += inner() times x, which has a row for each key.
  void add_to_queries(Interval keys, const T* x, int64_t row, int64_t width, T* sums) const {
    const int64_t whole = padded<T>(width);
    const T* finite = finite_of(x, row, keys.size(), whole);
    multiply_block<T>({inner_, 1, kLanes}, finite ? finite : x, finite ? whole : row, sums, whole, count(), whole,
                      keys.size(), true);
    if (finite) add_not_finite<T>({inner_, hidden_, kLanes}, true, x, row, keys.size(), width, sums, whole, count());
  }
  const T* softmax_weights() const { return softmax_weights_; }
  const T* inner() const { return inner_; }

 private:
  void clear(Interval keys, T* x) const {
    for (int64_t row = 0; hidden_ && row < keys.size(); ++row)
      clear_hidden(hidden_ + row * kLanes, count(), x + row * kLanes);
  }
  /// Returns a copy of x with zeros for elements that are not finite; null if there are none, or if not
  /// `handles_non_finite`.
  const T* finite_of(const T* x, int64_t row, int64_t rows, int64_t width) const {
    bool changed = false;
    for (int64_t i = 0; finite_ && i < rows; ++i)
      changed = copy_finite(x + i * row, width, finite_ + i * width) || changed;
    return changed ? finite_ : nullptr;
  }

  const AttentionBlocks<T> blocks_ = attention_blocks<T>();
  const Operands<T>& from_;
  T *transposed_q_, *transposed_g_, *shift_, *delta_, *softmax_weights_, *inner_, *slopes_, *finite_;
  std::uint8_t* hidden_;
  int64_t batch_ = 0, head_ = 0;
  Interval queries_;
};

/// Calls f(head, queries, keys) for each head of q that shares `kv_head` and each block of queries. `keys` are the keys
/// of `chunk` that these queries see.
template <class F>
void each_query_block(const AttentionShape& s, int64_t kv_head, Interval chunk, F&& f) {
  for (int64_t head = kv_head * s.group(); head < (kv_head + 1) * s.group(); ++head)
    for (int64_t query = 0; query < s.queries; query += kBlockOfQueries) {
      const Interval queries{query, std::min(query + kBlockOfQueries, s.queries)}, seen = s.keys_of(queries);
      f(head, queries, Interval{std::max(seen.begin, chunk.begin), std::min(seen.end, chunk.end)});
    }
}
/// Calls f(block) for blocks of keys.
template <class F>
void each_key_block(Interval keys, F&& f) {
  for (int64_t key = keys.begin; key < keys.end; key += kBlockOfKeys)
    f(Interval{key, std::min(key + kBlockOfKeys, keys.end)});
}

template <class T>
void store_scaled(const T* sums, int64_t rows, int64_t width, double factor, T* to) {
  for (int64_t row = 0; row < rows; ++row, sums += padded<T>(width), to += width)
    for (int64_t j = 0; j < width; ++j) to[j] = sums[j] * static_cast<T>(factor);
}

/// Computes the gradients of the keys and values of `chunk` of one head, and writes what these keys contribute to the
/// gradient of q to dq [batch, heads, queries, width].
template <class T>
void add_inputs(const Operands<T>& from, int64_t batch, int64_t kv_head, Interval chunk, T* dq, T* dk, T* dv,
                bool handles_non_finite) {
  const AttentionShape& s = from.shape;
  const int64_t width = padded<T>(s.width), value_width = padded<T>(s.value_width);
  Workspace workspace(
      (QueryBlock<T>::numbers(s, handles_non_finite) + chunk.size() * (width + value_width) + kLanes * width) *
      static_cast<int64_t>(sizeof(T)));
  QueryBlock<T> block(from, workspace, handles_non_finite);
  T *k_sums = workspace.take<T>(chunk.size() * width), *v_sums = workspace.take<T>(chunk.size() * value_width),
    *q_sums = workspace.take<T>(kLanes * width);
  std::fill_n(k_sums, chunk.size() * width, T{0});
  std::fill_n(v_sums, chunk.size() * value_width, T{0});
  each_query_block(s, kv_head, chunk, [&](int64_t head, Interval queries, Interval seen) {
    const int64_t count = queries.size();
    std::fill_n(q_sums, count * width, T{0});
    if (seen.size() > 0) block.load(batch, head, queries);
    each_key_block(seen, [&](Interval keys) {
      block.compute(keys);
      block.add_to_keys(keys, block.softmax_weights(), block.g(), from.g.row(), s.value_width,
                        v_sums + (keys.begin - chunk.begin) * value_width);
      block.uncap(keys);
      block.add_to_keys(keys, block.inner(), block.q(), from.q.row(), s.width,
                        k_sums + (keys.begin - chunk.begin) * width);
      block.add_to_queries(keys, from.scores.k.at(batch, kv_head, keys.begin), from.scores.k.row(), s.width, q_sums);
    });
    store_scaled(q_sums, count, s.width, s.scale,
                 dq + ((batch * s.heads + head) * s.queries + queries.begin) * s.width);
  });
  const int64_t first = (batch * s.kv_heads + kv_head) * s.keys + chunk.begin;
  store_scaled(k_sums, chunk.size(), s.width, s.scale, dk + first * s.width);
  store_scaled(v_sums, chunk.size(), s.value_width, 1, dv + first * s.value_width);
}

/// Returns whether add_inputs() wrote a NaN.
template <class T>
bool has_nan_result(const AttentionShape& s, int64_t batch, int64_t kv_head, Interval chunk, const T* dq, const T* dk,
                    const T* dv) {
  const int64_t first = (batch * s.kv_heads + kv_head) * s.keys + chunk.begin, queries = s.group() * s.queries;
  return has_nan(dk + first * s.width, chunk.size() * s.width) ||
         has_nan(dv + first * s.value_width, chunk.size() * s.value_width) ||
         has_nan(dq + (batch * s.kv_heads + kv_head) * queries * s.width, queries * s.width);
}

/// Adds the gradient of the scores of the keys of `chunk` of one head to that of the bias, whose `strides` are 0 along
/// the dimensions in which it is broadcast.
template <class T>
void add_bias(const Operands<T>& from, int64_t batch, int64_t kv_head, Interval chunk, T* dbias, const Dims& strides) {
  Workspace workspace(QueryBlock<T>::numbers(from.shape, true) * static_cast<int64_t>(sizeof(T)));
  QueryBlock<T> block(from, workspace, true);
  each_query_block(from.shape, kv_head, chunk, [&](int64_t head, Interval queries, Interval seen) {
    if (seen.size() > 0) block.load(batch, head, queries);
    each_key_block(seen, [&](Interval keys) {
      block.compute(keys);
      const T* inner = block.inner();
      for (int64_t key = keys.begin; key < keys.end; ++key, inner += kLanes) {
        T* to = dbias + batch * strides[0] + head * strides[1] + queries.begin * strides[2] + key * strides[3];
        for (int64_t i = 0; i < queries.size(); ++i) to[i * strides[2]] += inner[i];
      }
    });
  });
}

/// sums[i] = parts[0][i] + parts[1][i] + ...
template <class T>
void add_up(const T* parts, int64_t count, int64_t size, T* sums) {
  parallel_for(size, 16384, [&](int64_t begin, int64_t end) {
    std::copy(parts + begin, parts + end, sums + begin);
    for (int64_t part = 1; part < count; ++part)
      for (int64_t i = begin; i < end; ++i) sums[i] += parts[part * size + i];
  });
}

/// Calls task(batch, kv_head, keys, chunk) for every head and chunk of keys, in order within one task of `cut`.
template <class F>
void each_task(const AttentionShape& s, const TaskSize& cut, F&& task) {
  const int64_t head_groups = s.kv_heads / cut.heads, groups = s.batch / cut.batches * head_groups;
  parallel_for(groups * cut.chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t chunk = at % cut.chunks, group = at / cut.chunks;
      const Interval keys{chunk * cut.keys, std::min((chunk + 1) * cut.keys, s.keys)};
      const int64_t batch = group / head_groups * cut.batches, head = group % head_groups * cut.heads;
      for (int64_t b = batch; b < batch + cut.batches; ++b)
        for (int64_t h = head; h < head + cut.heads; ++h) task(b, h, keys, chunk);
    }
  });
}

template <class T>
void backward(const AttentionGrad& op, Call call) {
  const AttentionShape shape = AttentionShape::of(op, call.in);
  Value held[2];
  const Operands<T> from(op, shape, call.in, read_contiguous(call.in[AttentionGrad::log_sum], held[0]),
                         read_contiguous(call.in[AttentionGrad::delta], held[1]));
  if (op.of_bias) {
    const Array bias = allocate(call.out[0]);
    std::memset(bias.data, 0, static_cast<std::size_t>(bias.numel()) * sizeof(T));
    const Dims strides = broadcast_to(bias, {shape.batch, shape.heads, shape.queries, shape.keys}).strides;
    if (shape.batch > 0)
      each_task(shape, task_size(shape, &bias.shape), [&](int64_t batch, int64_t head, Interval keys, int64_t) {
        add_bias(from, batch, head, keys, bias.as<T>(), strides);
      });
    return;
  }
  T *const dq = allocate(call.out[0]).template as<T>(), *const dk = allocate(call.out[1]).template as<T>(),
           *const dv = allocate(call.out[2]).template as<T>();
  if (shape.batch == 0) return;
  const TaskSize tasks = task_size(shape, nullptr);
  const int64_t size = call.in[AttentionGrad::q].numel();
  Ref<Memory> parts;  // a partial dq for each chunk of keys
  if (tasks.chunks > 1) parts = make_ref<Memory>(static_cast<std::size_t>(tasks.chunks * size) * sizeof(T));
  T* const sums = parts ? reinterpret_cast<T*>(parts->bytes()) : dq;
  each_task(shape, tasks, [&](int64_t batch, int64_t head, Interval keys, int64_t chunk) {
    T* const own = sums + chunk * size;
    add_inputs(from, batch, head, keys, own, dk, dv, false);
    if (from.scores.may_hide() && has_nan_result(shape, batch, head, keys, own, dk, dv))
      add_inputs(from, batch, head, keys, own, dk, dv, true);
  });
  if (parts) add_up(sums, tasks.chunks, size, dq);
}

}  // namespace

bool run(const AttentionGrad& op, Call call) {
  switch (call.in[AttentionGrad::q].dtype()) {
    case DType::F32: backward<float>(op, call); return true;
    case DType::F64: backward<double>(op, call); return true;
    default: return false;
  }
}

}  // namespace kiln::cpu::simd
