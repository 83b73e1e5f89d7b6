// A pointwise convolution and the depthwise one that alone reads its result. A kernel computes the first in pieces, as
// the second needs them. Only the planner creates these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Sequence;  // sequence.hpp, which knows all ops

/// The sequence has two steps, each a Conv or an Epilogue of one, and one result: that of the second step.
struct ConvChain {
  static constexpr std::string_view kName = "conv_chain";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const Sequence> sequence;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
