// Ops that move or join elements. Views are Kiln's: they share the operand's memory.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/backend/strided/views.hpp"
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/view/assemble_ops.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln::libtorch {

bool run(const op::Reshape& op, Call call) {
  if (!strided::run(op, call)) give(call.out[0], tensor(call.in[0]).reshape(to_vector(op.shape)));
  return true;
}
bool run(const op::Permute& op, Call call) {
  strided::run(op, call);
  return true;
}
bool run(const op::Expand& op, Call call) {
  strided::run(op, call);
  return true;
}
bool run(const op::Slice& op, Call call) {
  strided::run(op, call);
  return true;
}
bool run(const op::Unfold& op, Call call) {
  strided::run(op, call);
  return true;
}

bool run(const op::SliceAssign& op, Call call) {
  const at::Tensor result = tensor(call.in[op::SliceAssign::x]).clone(at::MemoryFormat::Contiguous);
  at::Tensor part = result, value = tensor(call.in[op::SliceAssign::value]);
  for (int i = 0; i < op.begin.size(); ++i) {
    const std::int64_t size = value.size(i), step = op.step[i], last = op.begin[i] + (size - 1) * step;
    const std::int64_t first = std::min(op.begin[i], last), end = std::max(op.begin[i], last) + 1;
    part = part.slice(i, first, end, size == 1 ? 1 : std::abs(step));
    if (step < 0) value = value.flip(i);
  }
  part.copy_(value);
  give(call.out[0], result);
  return true;
}

// Element k of all windows at once, which are different elements of the result.
bool run(const op::Fold& op, Call call) {
  const at::Tensor windows = computed(call.in[0]);
  const std::int64_t count = windows.size(op.dim), size = windows.size(-1);
  const at::Tensor sums = at::zeros(to_vector(call.out[0].shape()), windows.options());
  for (std::int64_t k = 0; k < size; ++k) {
    const std::int64_t first = k * op.dilation;
    sums.slice(op.dim, first, first + (count - 1) * op.step + 1, count == 1 ? 1 : op.step).add_(windows.select(-1, k));
  }
  give(call.out[0], sums);
  return true;
}

bool run(const op::Cat& op, Call call) {
  std::vector<at::Tensor> parts;
  for (const Value& value : call.in) parts.push_back(tensor(value));
  give(call.out[0], at::cat(parts, op.dim));
  return true;
}

bool run(const op::Fill& op, Call call) {
  const at::Tensor one = number(call.in[op::Fill::value].scalar(), op.dtype);
  give(call.out[0], one.expand(to_vector(op.shape)).clone(at::MemoryFormat::Contiguous));
  return true;
}

// Whole numbers are computed in int64, others in float64, and each is rounded once.
bool run(const op::Arange& op, Call call) {
  const Scalar &start = call.in[op::Arange::start].scalar(), &step = call.in[op::Arange::step].scalar();
  const bool whole = start.kind() != Kind::Float && step.kind() != Kind::Float;
  if (op.dtype == DType::F16 || op.dtype == DType::BF16 || (!whole && !is_float(op.dtype))) return false;
  const DType dtype = whole ? DType::I64 : DType::F64;
  const at::Tensor places = at::arange(op.count, type_of(dtype));
  give(call.out[0], places * number(step, dtype) + number(start, dtype));
  return true;
}

}  // namespace kiln::libtorch
