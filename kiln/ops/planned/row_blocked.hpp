// Operations that run one after the other on a block of rows at a time, so that each finds the results of the one
// before it in a cache. Only the planner creates these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct RowBlocks;  // sequence.hpp, which knows all ops

struct RowBlocked {
  static constexpr std::string_view kName = "row_blocked";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const RowBlocks> blocks;
  Descs infer(Inputs in) const;
  /// Runs the operations on whole tensors.
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
