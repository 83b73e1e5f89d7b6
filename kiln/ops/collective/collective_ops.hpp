// Ops that all ranks run together: each rank has a tensor of the same shape and receives a result of all tensors.
// Gradients are those of the sum of all ranks' losses.
#pragma once
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::op {

/// Combines element i of all ranks in the order of the ranks, with the same bits on each. Sum, Mean (of floats), Max,
/// Min; not for booleans. Halves are summed in float32. Equal extremes share the gradient.
struct AllReduce {
  static constexpr std::string_view kName = "all_reduce";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  ReduceFn how;
  std::int64_t among;  // Communicator::number()
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// Returns the tensor of rank `root`.
struct Broadcast {
  static constexpr std::string_view kName = "broadcast";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  int root;
  std::int64_t among;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// [n, ...] -> [ranks * n, ...]: the tensors of all ranks, one after the other.
struct AllGather {
  static constexpr std::string_view kName = "all_gather";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  std::int64_t among;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// [ranks * n, ...] -> [n, ...]: this rank's part of the result of AllReduce.
struct ReduceScatter {
  static constexpr std::string_view kName = "reduce_scatter";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  ReduceFn how;
  std::int64_t among;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
