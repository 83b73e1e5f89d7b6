// Operations that run one after the other on a few rows at a time, so that each finds the previous result in the cache.
// Only the planner creates these.
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
  /// Runs the operations on whole tensors.
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
