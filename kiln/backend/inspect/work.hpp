// The least work of a call, on any device.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln {

struct Work {
  double bytes = 0;  // read and written, each operand and each result once
  double flops = 0;  // multiplications and additions of a contraction
};

/// Returns the work of a call that has run. A result that is a view of an operand costs nothing, an operand that
/// repeats its elements (an expanded one) counts them once, and a table counts only the rows that are read.
Work work_of(const op::Op& op, const Call& call);

}  // namespace kiln
