// Collectives of bytes on the host, whose tensors are rows of elements: what a device without anything better does.
#pragma once
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::collective {

/// `what` says for which call, and how large, as Communicator::exchange() has it; `x` and `result` do not overlap.

/// What all ranks of a call say that they came to: "all_reduce (sum) of float32 [3]".
template <class Op>
std::string words_of(const Op& op, const Desc& x) {
  std::string how;
  if constexpr (requires { op.how; }) how = text(" (", name(op.how), ')');
  if constexpr (requires { op.root; }) how = text(" (root ", op.root, ')');
  return text(Op::kName, how, " of ", x.dtype, ' ', x.shape);
}

/// As many bytes each.
void all_reduce(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype, std::span<const std::byte> x,
                std::span<std::byte> result);
/// As many.
void broadcast(Communicator& among, std::string_view what, int root, std::span<const std::byte> x,
               std::span<std::byte> result);
/// The result is as often as large as there are ranks.
void all_gather(Communicator& among, std::string_view what, std::span<const std::byte> x, std::span<std::byte> result);
/// x is as often as large as there are ranks.
void reduce_scatter(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype,
                    std::span<const std::byte> x, std::span<std::byte> result);
/// A text of each rank, of any length.
std::vector<std::string> gather_texts(Communicator& among, std::string_view what, const std::string& text);

}  // namespace kiln::collective
