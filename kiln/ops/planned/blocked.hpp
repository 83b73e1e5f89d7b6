// Operations that run one after the other on a few rows at a time, so that what one leaves the next finds in the cache.
// Only the planner makes these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Sequence;  // sequence.hpp, which knows all ops

struct Blocked {
  static constexpr std::string_view kName = "blocked";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const Sequence> sequence;
  Descs infer(Inputs in) const;
  /// The operations on whole tensors.
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
