// Reading and writing by index. Where an index is out of range, the reference runs, which says which one.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/core/shape.hpp"
#include "kiln/ops/index/index_ops.hpp"

namespace kiln::libtorch {
namespace {

bool in_range(const at::Tensor& index, std::int64_t from, std::int64_t size) {
  return !at::logical_or(at::lt(index, from), at::ge(index, size)).any().item<bool>();
}

/// The name of an update in ATen's scatter_reduce and index_reduce; Assign and Add have functions of their own.
const char* reduction(Update update) {
  return update == Update::Mul ? "prod" : update == Update::Min ? "amin" : "amax";
}

}  // namespace

bool run(const op::Gather& op, Call call) {
  const at::Tensor x = tensor(call.in[op::Gather::x]), index = computed(call.in[op::Gather::index]);
  if (!in_range(index, 0, x.size(op.dim))) return false;
  give(call.out[0], at::gather(x, op.dim, index));
  return true;
}

bool run(const op::Scatter& op, Call call) {
  using op::Scatter;
  const at::Tensor x = computed(call.in[Scatter::x]), index = computed(call.in[Scatter::index]);
  const at::Tensor source = computed(call.in[Scatter::source]);
  if (!in_range(index, 0, x.size(op.dim))) return false;
  if (op.update == Update::Assign) give(call.out[0], at::scatter(x, op.dim, index, source));
  else if (op.update == Update::Add) give(call.out[0], at::scatter_add(x, op.dim, index, source));
  else give(call.out[0], at::scatter_reduce(x, op.dim, index, source, reduction(op.update)));
  return true;
}

bool run(const op::Select& op, Call call) {
  const at::Tensor x = tensor(call.in[op::Select::x]), index = computed(call.in[op::Select::index]);
  const std::int64_t dim = at::maybe_wrap_dim(op.dim, x.dim());
  if (!in_range(index, 0, x.size(dim))) return false;
  give(call.out[0], at::index_select(x, dim, index.flatten()).view(to_vector(call.out[0].shape())));
  return true;
}

bool run(const op::SelectUpdate& op, Call call) {
  using op::SelectUpdate;
  const at::Tensor x = computed(call.in[SelectUpdate::x]), index = computed(call.in[SelectUpdate::index]);
  const std::int64_t dim = at::maybe_wrap_dim(op.dim, x.dim());
  if (!in_range(index, 0, x.size(dim))) return false;
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape[static_cast<std::size_t>(dim)] = index.numel();
  const at::Tensor source = computed(call.in[SelectUpdate::source]).reshape(shape), flat = index.flatten();
  if (op.update == Update::Assign) give(call.out[0], at::index_copy(x, dim, flat, source));
  else if (op.update == Update::Add) give(call.out[0], at::index_add(x, dim, flat, source));
  else give(call.out[0], at::index_reduce(x, dim, flat, source, reduction(op.update)));
  return true;
}

bool run(const op::RavelIndex& op, Call call) {
  at::Tensor at = at::zeros(to_vector(call.out[0].shape()), at::kLong);
  for (int i = 0; i < op.shape.size(); ++i) {
    const std::int64_t size = op.shape[i];
    const at::Tensor index = operand(call.in[static_cast<std::size_t>(i)], DType::I64);
    if (!in_range(index, -size, size)) return false;
    at = at * size + at::where(at::lt(index, 0), index + size, index);
  }
  give(call.out[0], at);
  return true;
}

bool run(const op::Nonzero& op, Call call) {
  const at::Tensor found = at::nonzero(tensor(call.in[0]).flatten()).flatten();
  if (found.numel() != op.count) return false;
  give(call.out[0], found);
  return true;
}

}  // namespace kiln::libtorch
