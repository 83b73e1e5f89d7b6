// Operations that fold the same rows, and those that process these rows before, between and after, as one kernel that
// reads each row once and keeps it in registers. Only the planner creates these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Sequence;  // sequence.hpp, which knows all ops

/// Each step processes the rows one by one (rows.hpp). A row consists of the last dimensions of a tensor.
struct RowFused {
  static constexpr std::string_view kName = "row_fused";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const Sequence> sequence;
  std::int64_t rows = 0;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
