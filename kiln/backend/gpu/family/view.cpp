// Ops that do not move elements.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/strided/views.hpp"

namespace kiln::gpu::family {

bool run(Gpu& gpu, const op::Reshape& op, Call call) {
  if (strided::run(op, call)) return true;
  gpu.running_collectives().wait_for_collective(call.in);
  Value& result = call.out[0];
  const Array from = read(call.in[0]);
  Array to = gpu.allocate(result);
  to.shape = from.shape;
  to.strides = contiguous_strides(from.shape);
  copy(gpu, from, to);
  return true;
}
bool run(Gpu&, const op::Permute& op, Call call) { return strided::run(op, call), true; }
bool run(Gpu&, const op::Expand& op, Call call) { return strided::run(op, call), true; }
bool run(Gpu&, const op::Slice& op, Call call) { return strided::run(op, call), true; }
bool run(Gpu&, const op::Unfold& op, Call call) { return strided::run(op, call), true; }

}  // namespace kiln::gpu::family
