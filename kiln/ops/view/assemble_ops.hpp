// Ops that combine tensors.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Concatenates along `dim`; takes one operand or more.
struct Cat {
  static constexpr std::string_view kName = "cat";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  int dim;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

/// Concatenates the elements of all operands, each in row-major order, as `dtype` [elements]; takes one operand or
/// more.
struct Ravel {
  static constexpr std::string_view kName = "ravel";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  DType dtype;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
  Values expand(Inputs in) const;
};

}  // namespace kiln::op
