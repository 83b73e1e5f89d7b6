#include "kiln/ops/together.hpp"

#include "kiln/ops/emit.hpp"
#include "kiln/ops/sequence.hpp"

namespace kiln::op {

Descs Together::infer(Inputs) const { fail<ArgumentError>("together: a plan's op is not for emit()"); }
void Together::vjp(Backward&) const { fail<ArgumentError>("together: a plan's op has no gradient"); }

Values Together::expand(Inputs in) const {
  Values results;
  for (const Parts::Part& part : parts->all) {
    const Inputs operands = in.subspan(part.operands.first, part.operands.count);
    const auto* fused = std::get_if<Fused>(&part.op.is);
    for (Value& result : fused ? fused->expand(operands) : emit_all(part.op, operands))
      results.push_back(std::move(result));
  }
  return results;
}

}  // namespace kiln::op
