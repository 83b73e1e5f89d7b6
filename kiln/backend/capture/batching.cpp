#include "kiln/backend/capture/batching.hpp"

#include <algorithm>

#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {
namespace {

using Results = std::optional<Values>;

// ---- operands ------------------------------------------------------------------------------------------------------

/// [examples, ...] of a shape of one example.
Shape with_examples(std::int64_t examples, const Shape& shape) {
  Shape all{examples};
  for (const std::int64_t size : shape) all.push_back(size);
  return all;
}

/// Puts dimensions of size 1 behind the examples, so that operands of different ranks broadcast as those of one example
/// do.
void align(BatchedCall& call) {
  int rank = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) rank = std::max(rank, call.rank(i));
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!call.batched[i] || call.rank(i) == rank) continue;
    Shape shape{call.examples};
    for (int k = call.rank(i); k < rank; ++k) shape.push_back(1);
    for (int k = 1; k < call.in[i].rank(); ++k) shape.push_back(call.in[i].dim(k));
    call.in[i] = reshape(call.in[i], shape);
  }
}

/// Repeats the tensors that all examples share.
void repeat_shared(BatchedCall& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (call.is_tensor(i) && !call.batched[i])
      call.in[i] = expand(call.in[i], with_examples(call.examples, call.in[i].shape())), call.batched[i] = true;
}

/// Whether only the first operand differs between examples.
bool only_first(const BatchedCall& call) {
  return call.batched[0] && std::count(call.batched.begin(), call.batched.end(), true) == 1;
}

Results emitted(const op::Op& op, const BatchedCall& call) { return emit_all(op, call.in); }

// ---- rules ---------------------------------------------------------------------------------------------------------

/// Dropout is none of them: what it drops depends on where an element lies in the whole operand.
template <class T>
concept Elementwise = (T::kTraits.pattern == Pattern::Elementwise && !std::is_same_v<T, op::Dropout>) ||
                      std::is_same_v<T, op::Special> || std::is_same_v<T, op::Gcd>;
/// Ops of one dimension that all operands have, or of several.
template <class T>
concept AlongDim =
    std::is_same_v<T, op::ArgReduce> || std::is_same_v<T, op::Scan> || std::is_same_v<T, op::Recurrence> ||
    std::is_same_v<T, op::Sort> || std::is_same_v<T, op::TopK> || std::is_same_v<T, op::Softmax> ||
    std::is_same_v<T, op::Cat> || std::is_same_v<T, op::Gather> || std::is_same_v<T, op::Scatter> ||
    std::is_same_v<T, op::Unfold> || std::is_same_v<T, op::Fold> || std::is_same_v<T, op::Resample>;
/// Ops of pictures or signals [batch, ...] that treat each by itself, and have other operands for all of them.
template <class T>
concept OfEach =
    std::is_same_v<T, op::Conv> || std::is_same_v<T, op::ConvTranspose> || std::is_same_v<T, op::MaxPool> ||
    std::is_same_v<T, op::AvgPool> || std::is_same_v<T, op::MaxPoolGrad> || std::is_same_v<T, op::AvgPoolGrad>;

template <class T>
Results rule(const T&, BatchedCall&) {
  return {};
}

template <Elementwise T>
Results rule(const T& op, BatchedCall& call) {
  align(call);
  return emitted(op, call);
}

template <AlongDim T>
Results rule(const T& op, BatchedCall& call) {
  repeat_shared(call);
  T moved = op;
  ++moved.dim;
  return emitted(moved, call);
}

Results rule(op::Reduce op, BatchedCall& call) {
  for (auto& dim : op.dims) ++dim;
  return emitted(op, call);
}

Results rule(const op::Matmul& op, BatchedCall& call) {
  align(call);
  return emitted(op, call);
}

Results rule(op::Reshape op, BatchedCall& call) {
  op.shape = with_examples(call.examples, op.shape);
  return emitted(op, call);
}

Results rule(const op::Permute& op, BatchedCall& call) {
  op::Permute more{{0}};
  for (const std::int64_t dim : op.dims) more.dims.push_back(dim + 1);
  return emitted(more, call);
}

Results rule(op::Expand op, BatchedCall& call) {
  Shape shape{call.examples};
  for (int k = call.rank(0); k < op.shape.size(); ++k) shape.push_back(1);
  for (int k = 1; k < call.in[0].rank(); ++k) shape.push_back(call.in[0].dim(k));
  call.in[0] = reshape(call.in[0], shape);
  op.shape = with_examples(call.examples, op.shape);
  return emitted(op, call);
}

/// `dims` behind a first dimension.
Dims behind(std::int64_t first, const Dims& dims) {
  Dims all{first};
  for (const auto dim : dims) all.push_back(dim);
  return all;
}

Results rule(const op::Slice& op, BatchedCall& call) {
  return emitted(op::Slice{behind(0, op.begin), behind(1, op.step), with_examples(call.examples, op.size)}, call);
}

Results rule(const op::SliceAssign& op, BatchedCall& call) {
  repeat_shared(call);
  return emitted(op::SliceAssign{behind(0, op.begin), behind(1, op.step)}, call);
}

/// Slices by an index that all examples share.
Results rule(op::Select op, BatchedCall& call) {
  if (!only_first(call)) return {};
  ++op.dim;
  return emitted(op, call);
}

/// Over the last dimensions, with weights that all examples share.
Results rule(const op::LayerNorm& op, BatchedCall& call) {
  if (!only_first(call)) return {};
  return emitted(op, call);
}

/// The examples become part of the op's own batch.
template <OfEach T>
Results rule(const T& op, BatchedCall& call) {
  if constexpr (std::is_same_v<T, op::MaxPoolGrad>) repeat_shared(call);
  else if (!only_first(call)) return {};
  if (call.examples == 0) return {};
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!call.batched[i]) continue;
    Shape merged = call.in[i].shape();
    merged[1] *= merged[0];
    call.in[i] = reshape(call.in[i], Shape(merged.begin() + 1, merged.end()));
  }
  Values results = emit_all(op, call.in);
  for (Value& result : results) {
    if (!result) continue;
    Shape split = with_examples(call.examples, result.shape());
    split[1] /= call.examples;
    result = reshape(result, split);
  }
  return results;
}

}  // namespace

std::optional<Values> run_batched(const op::Op& op, BatchedCall call) {
  return op::visit(op, [&]<class T>(const T& is) -> Results { return rule(is, call); });
}

}  // namespace kiln
