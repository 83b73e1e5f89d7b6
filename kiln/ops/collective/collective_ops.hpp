// What all ranks do together: each has a tensor of the same shape, and gets something of what all have. Gradients are those
// of the sum of all ranks' losses.
#pragma once
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::op {

/// Element i of all ranks, combined in the order of the ranks; the same bits for each. Sum, Mean (of floats), Max, Min; not of
/// booleans. Halves are summed in float32. Equal extremes share the gradient.
struct AllReduce {
  static constexpr std::string_view kName = "all_reduce";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  ReduceFn how;
  std::int64_t among;  // Communicator::number()
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// What rank `root` has.
struct Broadcast {
  static constexpr std::string_view kName = "broadcast";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  int root;
  std::int64_t among;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// [n, ...] -> [ranks * n, ...]: the tensors of all ranks, one after the other.
struct AllGather {
  static constexpr std::string_view kName = "all_gather";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  std::int64_t among;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// [ranks * n, ...] -> [n, ...]: this rank's part of what AllReduce would give.
struct ReduceScatter {
  static constexpr std::string_view kName = "reduce_scatter";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Other, Rows::None, MayFail::WithRanks};
  ReduceFn how;
  std::int64_t among;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
