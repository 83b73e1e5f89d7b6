// What a call costs at the least, on any device.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln {

struct Work {
  double bytes = 0;  // to be read and written, each operand and each result once
  double flops = 0;  // multiplications and additions of a contraction
};

/// Of a call that has been run. A result that is a view of an operand cost nothing, an operand that repeats its
/// elements (an expanded one) counts them once, and of a table only the rows that are taken count.
Work work_of(const op::Op& op, const Call& call);

}  // namespace kiln
