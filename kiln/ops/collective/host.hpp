// Collectives over bytes on the host, whose tensors are arrays of elements, for devices that have nothing faster.
#pragma once
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::collective {

/// In all functions `what` names the call and its size, as in Communicator::exchange(); `x` and `result` do not
/// overlap.

/// The text with which all ranks of a call must agree: "all_reduce (sum) of float32 [3]".
template <class Op>
std::string words_of(const Op& op, const Desc& x) {
  std::string how;
  if constexpr (requires { op.how; }) how = text(" (", name(op.how), ')');
  if constexpr (requires { op.root; }) how = text(" (root ", op.root, ')');
  return text(Op::kName, how, " of ", x.dtype, ' ', x.shape);
}

/// x and result have equal sizes.
void all_reduce(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype, std::span<const std::byte> x,
                std::span<std::byte> result);
/// x and result have equal sizes.
void broadcast(Communicator& among, std::string_view what, int root, std::span<const std::byte> x,
               std::span<std::byte> result);
/// The result is as large as the x of all ranks together.
void all_gather(Communicator& among, std::string_view what, std::span<const std::byte> x, std::span<std::byte> result);
/// x is as large as the results of all ranks together.
void reduce_scatter(Communicator& among, std::string_view what, op::ReduceFn fn, DType dtype,
                    std::span<const std::byte> x, std::span<std::byte> result);
/// Returns the texts of all ranks; they may differ in length.
std::vector<std::string> gather_texts(Communicator& among, std::string_view what, const std::string& text);

}  // namespace kiln::collective
