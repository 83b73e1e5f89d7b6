// Small operations of which none needs another's result, as one call: what an optimizer does to each of many parameters.
// Only the planner makes these.
#pragma once
#include <memory>

#include "kiln/ops/traits.hpp"

namespace kiln::op {

struct Parts;  // sequence.hpp, which knows all ops

/// The operands of the parts, one part after the other; the results likewise.
struct Horizontal {
  static constexpr std::string_view kName = "horizontal";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  std::shared_ptr<const Parts> parts;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
