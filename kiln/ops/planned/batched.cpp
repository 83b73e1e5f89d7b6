#include "kiln/ops/planned/batched.hpp"

#include "kiln/ops/expand.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::op {

Descs Batched::infer(Inputs) const { fail<ArgumentError>("horizontal: a plan's op is not for emit()"); }
void Batched::vjp(Backward&) const { fail<ArgumentError>("horizontal: a plan's op has no gradient"); }

Values Batched::expand(Inputs in) const {
  Values results;
  for (const BatchedOp& part : parts->all) {
    const Inputs operands = in.subspan(part.operands.first, part.operands.count);
    for (Value& result : emit_part(part.op, operands)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace kiln::op
