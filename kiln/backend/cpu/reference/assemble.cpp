#include "kiln/ops/assemble.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu::reference {

void run(const op::Cat& op, Call call) {
  const Array z = allocate(call.out[0]);
  const int dim = wrap_dim(op::Cat::kName, op.dim, z.shape.size());
  Array part = z;
  for (const Value& value : call.in) {
    const Array x = read(value);
    part.shape = x.shape;
    copy(x, part);
    part.data += x.shape[dim] * z.strides[dim] * static_cast<std::int64_t>(size_of(z.dtype));
  }
}

}  // namespace kiln::cpu::reference
