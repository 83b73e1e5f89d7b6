#include "kiln/backend/cuda/attentions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kiln::cuda {
namespace {

using cudnn::Graph, cudnn::DataType;
using Mode = cudnn::PointwiseMode;
using Kind = gpu::Attention::Kind;

constexpr std::int64_t kAlignment = 16, kVector = 8;  // bytes, and elements, that its kernels load at once
constexpr std::int64_t kWidest = 256;
constexpr std::int64_t kFewest = 16;       // queries: for one, blocks that share the keys may add in any order
constexpr std::int64_t kSpare = 64 << 10;  // bytes of workspace that plans need for other purposes
constexpr std::int64_t kMostRoom = std::int64_t{5} << 28;  // bytes, enough to keep a device busy
constexpr std::size_t kEarliest = 91002;                   // version: some earlier ones have known errors

struct AttentionTensor {
  Shape sizes;
  Dims strides;
};

/// The key has all that a plan depends on.
struct AttentionKey {
  Kind kind;
  DType dtype;
  bool causal, deterministic;
  std::int64_t window, workspace;
  float scale;
  AttentionTensor q, k, v, out, grad, q_grad, k_grad, v_grad;
};

// The stride of a dimension of size 1 is arbitrary; cuDNN gets an aligned one.
AttentionTensor operand_of(const gpu::Attention::Tensor& x) {
  AttentionTensor made{x.sizes, x.strides};
  std::int64_t next = 1;
  for (int dim = x.sizes.size() - 1; dim >= 0; next = std::max(next, made.strides[dim] * x.sizes[dim]), --dim)
    if (x.sizes[dim] == 1) made.strides[dim] = (next + kVector - 1) / kVector * kVector;
  if (!x.sizes.empty() && x.sizes.back() == 1) made.strides.back() = 1;
  return made;
}

AttentionKey key_of(const gpu::Attention& of, bool deterministic) {
  return {.kind = of.kind,
          .dtype = of.dtype,
          .causal = of.causal,
          .deterministic = deterministic,
          .window = of.window,
          .workspace = of.workspace ? of.workspace_bytes : 0,
          .scale = static_cast<float>(of.scale),
          .q = operand_of(of.q),
          .k = operand_of(of.k),
          .v = operand_of(of.v),
          .out = operand_of(of.out),
          .grad = operand_of(of.grad),
          .q_grad = operand_of(of.q_grad),
          .k_grad = operand_of(of.k_grad),
          .v_grad = operand_of(of.v_grad)};
}

std::vector<const gpu::Attention::Tensor*> tensors_of(const gpu::Attention& of) {
  if (of.kind == Kind::Forward) return {&of.q, &of.k, &of.v, &of.out};
  return {&of.q, &of.k, &of.v, &of.out, &of.grad, &of.q_grad, &of.k_grad, &of.v_grad};
}

bool lies_in_vectors(const gpu::Attention::Tensor& x) {
  if (reinterpret_cast<std::uintptr_t>(x.data) % kAlignment || x.sizes[3] % kVector || x.strides[3] != 1) return false;
  std::int64_t reach = 0;
  for (int dim = 0; dim < 4; ++dim) {
    if (x.sizes[dim] < 1 || x.sizes[dim] > INT32_MAX) return false;
    if (dim < 3 && x.sizes[dim] > 1 && (x.strides[dim] < 1 || x.strides[dim] % kVector)) return false;
    reach += (x.sizes[dim] - 1) * x.strides[dim];
  }
  return reach < INT32_MAX;
}

bool fits(const gpu::Attention& of) {
  if (of.dtype != DType::F16 && of.dtype != DType::BF16) return false;
  const auto all = tensors_of(of);
  if (!std::ranges::all_of(all, [](const auto* x) { return lies_in_vectors(*x); })) return false;
  if (of.q.sizes[3] > kWidest || of.v.sizes[3] > kWidest) return false;
  const std::int64_t queries = of.q.sizes[2], keys = of.k.sizes[2];
  if (queries < kFewest || (of.causal && queries > keys)) return false;  // then some queries would see no key
  return of.window == 0 || (of.causal && queries == keys);
}

/// What both graphs share: tensors [batch, heads, queries, keys] and [batch, heads, queries, 1].
struct AttentionGraph {
  AttentionGraph(Graph& to, const AttentionKey& of)
      : graph(to),
        attention(of),
        type(of.dtype == DType::F16 ? DataType::Half : DataType::BFloat16),
        scores{of.q.sizes[0], of.q.sizes[1], of.q.sizes[2], of.k.sizes[2]},
        rows{scores[0], scores[1], scores[2], 1} {}

  Graph::Tensor operand(const AttentionTensor& x) { return graph.operand(type, x.sizes, x.strides, kAlignment); }
  /// The right factor of a product: [batch, heads, width, time].
  Graph::Tensor turned(AttentionTensor x) {
    std::swap(x.sizes[2], x.sizes[3]);
    std::swap(x.strides[2], x.strides[3]);
    return operand(x);
  }
  Graph::Tensor of_rows() { return graph.operand(DataType::Float, rows, contiguous_strides(rows), 4); }
  Graph::Tensor product(const Graph::Tensor& a, const Graph::Tensor& b) {
    const Graph::Tensor made = graph.between(DataType::Float, scores);
    graph.multiply(a, b, made);
    return made;
  }
  Graph::Tensor plain(Mode mode, std::initializer_list<Graph::Tensor> operands) {
    return graph.pointwise({mode}, operands);
  }
  /// x where the query may see the key.
  Graph::Tensor seen(Graph::Tensor x) {
    const auto of_axis = [&](std::int64_t axis) {
      return graph.pointwise({Mode::Index, DataType::Int32, DataType::Float, axis}, {x});
    };
    const auto where = [&](Mode compares, const Graph::Tensor& a, const Graph::Tensor& b) {
      const Graph::Tensor never = graph.number(-std::numeric_limits<float>::infinity());
      const Graph::Tensor is = graph.pointwise({compares, DataType::Boolean, DataType::Boolean}, {a, b});
      x = graph.pointwise({Mode::Select}, {x, never, is});
    };
    const auto queries = static_cast<std::int32_t>(scores[2]), keys = static_cast<std::int32_t>(scores[3]);
    if (attention.causal) {
      Graph::Tensor query = of_axis(2);
      const Graph::Tensor key = of_axis(3);
      if (queries != keys) {
        query = graph.pointwise({Mode::Add, DataType::Int32, DataType::Int32, 3}, {query, graph.number(keys)});
        query = graph.pointwise({Mode::Subtract, DataType::Int32, DataType::Int32, 3}, {query, graph.number(queries)});
      }
      where(Mode::GreaterEqual, query, key);
    }
    if (attention.window > 0) {
      const Graph::Tensor query = of_axis(2), key = of_axis(3);
      const Graph::Tensor window = graph.number(static_cast<float>(std::min<std::int64_t>(attention.window, keys)));
      const Graph::Tensor last = graph.pointwise({Mode::Add, DataType::Float, DataType::Float, 3}, {key, window});
      where(Mode::Greater, last, query);
    }
    return x;
  }

  Graph& graph;
  const AttentionKey& attention;
  const DataType type;
  const Shape scores, rows;
};

// Operands must come in the order of addresses_of().
void describe_forward(Graph& graph, const AttentionKey& of) {
  AttentionGraph p(graph, of);
  const auto q = p.operand(of.q), k = p.turned(of.k), v = p.operand(of.v), out = p.operand(of.out);
  const auto log_sum = p.of_rows();
  const auto scores = p.seen(p.plain(Mode::Multiply, {p.product(q, k), graph.number(of.scale)}));
  const auto greatest = graph.between(DataType::Float, p.rows), sum = graph.between(DataType::Float, p.rows);
  graph.reduce(cudnn::ReduceBy::Max, scores, greatest);
  const auto powers = p.plain(Mode::Exp, {p.plain(Mode::Subtract, {scores, greatest})});
  graph.reduce(cudnn::ReduceBy::Add, powers, sum);
  graph.pointwise({Mode::Add}, {greatest, p.plain(Mode::Log, {sum})}, log_sum);
  graph.multiply(graph.pointwise({Mode::Divide, p.type}, {powers, sum}), v, out);
}

// Recomputes the scores, and from them the softmax weights; five products follow.
void describe_gradient(Graph& graph, const AttentionKey& of) {
  AttentionGraph p(graph, of);
  const std::int64_t batch = p.scores[0], heads = p.scores[1], queries = p.scores[2], keys = p.scores[3];
  const auto q = p.operand(of.q), k = p.turned(of.k), v = p.turned(of.v), out = p.operand(of.out);
  const auto grad = p.operand(of.grad), log_sum = p.of_rows();
  const auto q_grad = p.operand(of.q_grad), k_grad = p.operand(of.k_grad), v_grad = p.operand(of.v_grad);

  const auto both = graph.between(DataType::Float, {batch, heads, queries, of.v.sizes[3]});
  graph.pointwise({Mode::Multiply}, {grad, out}, both);
  const auto sum = graph.between(DataType::Float, p.rows), delta = graph.scratch(p.rows);
  graph.reduce(cudnn::ReduceBy::Add, both, sum);
  graph.pointwise({Mode::Multiply}, {sum, graph.number(1.0f)}, delta);

  const auto scale = graph.number(of.scale);
  const auto scores = p.plain(Mode::Multiply, {p.product(q, k), scale});
  const auto shares = p.plain(Mode::Exp, {p.seen(p.plain(Mode::Subtract, {scores, log_sum}))});
  // [batch, heads, keys, queries], in the memory order of the scores.
  const auto turned = [&](const Graph::Tensor& x) {
    const auto made =
        graph.between(p.type, {batch, heads, keys, queries}, {heads * queries * keys, queries * keys, 1, keys});
    graph.reshape(x, made);
    return made;
  };
  // Heads that share keys compute a gradient each, which is then summed.
  const auto into = [&](const Graph::Tensor& a, const Graph::Tensor& b, const Graph::Tensor& made) {
    if (made.sizes[1] == heads) return graph.multiply(a, b, made);
    const auto each = graph.between(p.type, {batch, heads, keys, made.sizes[3]});
    graph.multiply(a, b, each);
    graph.reduce(cudnn::ReduceBy::Add, each, made);
  };
  into(turned(shares), grad, v_grad);
  const auto inner = p.plain(Mode::Multiply, {p.plain(Mode::Subtract, {p.product(grad, v), delta}), shares});
  const auto outer = p.plain(Mode::Multiply, {inner, scale});
  into(turned(outer), q, k_grad);
  const auto by_time = graph.between(p.type, of.k.sizes, of.k.strides);
  graph.reshape(k, by_time);
  if (of.deterministic) return graph.multiply(outer, by_time, q_grad);
  // Blocks of keys add to the same sums.
  const auto sums = graph.scratch(of.q.sizes);
  graph.multiply(outer, by_time, sums);
  graph.pointwise({Mode::Identity}, {sums}, q_grad);
}

/// Is this a case in which that version of cuDNN does not do what its reference says?
bool is_wrong(std::size_t version, const AttentionKey& of) {
  return version < kEarliest || (of.kind == Kind::Gradient && version < 91600 && of.k.sizes[2] % 128 != 0);
}

bool is_exact(std::span<const cudnn::Note> notes) {
  return std::ranges::none_of(notes, [](cudnn::Note note) {
    using enum cudnn::Note;
    return note >= DownConvertInputs && note <= Winograd;
  });
}

/// The workspace that a gradient needs per head of q: the scores' gradients in halves, for whole tiles, or else float32
/// sums for q's gradient; one number per query; and gradients of k and v if heads share them.
std::int64_t bytes_of_head(const Dnn& dnn, const gpu::Attention& of) {
  const auto whole = [](std::int64_t size) { return (size + 127) / 128 * 128; };
  const std::int64_t queries = whole(of.q.sizes[2]), keys = whole(of.k.sizes[2]);
  const std::int64_t shared = of.q.sizes[1] > of.k.sizes[1] ? keys * (of.q.sizes[3] + of.v.sizes[3]) * 2 : 0;
  return queries * ((dnn.deterministic() ? keys * 2 : of.q.sizes[3] * 4) + 4) + shared;
}

}  // namespace

const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Attention& asked) {
  if (!fits(asked)) return nullptr;
  const AttentionKey attention = key_of(asked, dnn.deterministic());
  const bool forward = asked.kind == Kind::Forward;
  return dnn.find(
      attention,
      [&](Graph& graph) {
        if (is_wrong(graph.api().get_version(), attention)) return;
        forward ? describe_forward(graph, attention) : describe_gradient(graph, attention);
      },
      [](std::span<const cudnn::Note> notes) { return is_exact(notes); },
      [&] {
        return text(forward ? "attention" : "gradient of attention", " q ", attention.q.sizes, " k ", attention.k.sizes,
                    " v ", attention.v.sizes, " ", attention.dtype, attention.causal ? " causal" : "");
      },
      attention.workspace);
}

std::vector<void*> addresses_of(const gpu::Attention& of) {
  if (of.kind == Kind::Forward) return {of.q.data, of.k.data, of.v.data, of.out.data, of.log_sum};
  return {of.q.data,  of.k.data,      of.v.data,      of.out.data,   of.grad.data,
          of.log_sum, of.q_grad.data, of.k_grad.data, of.v_grad.data};
}

std::int64_t workspace_of(Dnn& dnn, const gpu::Attention& asked) {
  if (asked.kind == Kind::Forward || !fits(asked) || !dnn.is_there()) return 0;
  return std::min(asked.q.sizes[0] * asked.q.sizes[1] * bytes_of_head(dnn, asked) + kSpare, kMostRoom);
}

std::vector<gpu::Attention> pieces_of(const Dnn& dnn, const gpu::Attention& asked) {
  if (asked.kind == Kind::Forward) return {asked};
  const std::int64_t batch = asked.q.sizes[0], heads = asked.q.sizes[1], kv_heads = asked.k.sizes[1];
  const std::int64_t queries = asked.q.sizes[2], shared = heads / kv_heads;
  const std::int64_t workspace = asked.workspace ? asked.workspace_bytes : Dnn::kWorkspace;
  const std::int64_t most =
      std::max<std::int64_t>((workspace - kSpare) / bytes_of_head(dnn, asked), 1);  // heads at a time
  const std::int64_t sequences = std::clamp<std::int64_t>(most / heads, 1, batch);
  const std::int64_t groups = sequences > 1 || heads <= most ? kv_heads : std::max<std::int64_t>(most / shared, 1);
  const auto bytes = static_cast<std::int64_t>(size_of(asked.dtype));
  std::vector<gpu::Attention> pieces;
  for (std::int64_t first = 0; first < batch; first += sequences)
    for (std::int64_t group = 0; group < kv_heads; group += groups) {
      gpu::Attention piece = asked;
      const std::int64_t count = std::min(sequences, batch - first), own = std::min(groups, kv_heads - group);
      const auto cut = [&](gpu::Attention::Tensor& x, std::int64_t of_group) {
        x.data += (first * x.strides[0] + group * of_group * x.strides[1]) * bytes;
        x.sizes[0] = count;
        x.sizes[1] = own * of_group;
      };
      for (auto* x : {&piece.q, &piece.out, &piece.grad, &piece.q_grad}) cut(*x, shared);
      for (auto* x : {&piece.k, &piece.v, &piece.k_grad, &piece.v_grad}) cut(*x, 1);
      piece.log_sum += (first * heads + group * shared) * queries * static_cast<std::int64_t>(sizeof(float));
      pieces.push_back(piece);
    }
  return pieces;
}

}  // namespace kiln::cuda
