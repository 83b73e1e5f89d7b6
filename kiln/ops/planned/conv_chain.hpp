// A pointwise convolution and the depthwise one that alone reads its result, of which a kernel makes the first piece by
// piece as the second needs it. Only the planner makes these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Sequence;  // sequence.hpp, which knows all ops

/// The sequence has two steps, each of which is a Conv or an Epilogue of one, and one result, the second's.
struct ConvChain {
  static constexpr std::string_view kName = "conv_chain";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const Sequence> sequence;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
