// Putting tensors together.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// One after the other along `dim`; one operand or more.
struct Cat {
  static constexpr std::string_view kName = "cat";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  int dim;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
