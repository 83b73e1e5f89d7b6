#include "kiln/ops/planned/horizontal.hpp"

#include "kiln/ops/expand.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::op {

Descs Horizontal::infer(Inputs) const { fail<ArgumentError>("horizontal: a plan's op is not for emit()"); }
void Horizontal::vjp(Backward&) const { fail<ArgumentError>("horizontal: a plan's op has no gradient"); }

Values Horizontal::expand(Inputs in) const {
  Values results;
  for (const Parts::Part& part : parts->all) {
    const Inputs operands = in.subspan(part.operands.first, part.operands.count);
    for (Value& result : emit_part(part.op, operands)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace kiln::op
