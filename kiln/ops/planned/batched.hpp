// Small independent operations as one call, such as an optimizer's update of each of many parameters. Only the planner
// creates these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct BatchedOps;  // sequence.hpp, which knows all ops

/// The operands of the parts, one part after the other; the results are in the same order.
struct Batched {
  static constexpr std::string_view kName = "horizontal";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const BatchedOps> parts;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
