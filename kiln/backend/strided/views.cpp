#include "kiln/backend/strided/views.hpp"

#include "kiln/core/wrapping.hpp"

namespace kiln::strided {

bool run(const op::Reshape& op, Call call) {
  const Node& x = *call.in[0].node();
  const std::optional<Dims> strides = reshaped_strides(x.desc.shape, x.strides, op.shape);
  if (strides) alias(call.out[0], call.in[0], *strides, x.offset);
  return strides.has_value();
}

void run(const op::Permute& op, Call call) {
  const Node& x = *call.in[0].node();
  Dims strides;
  for (const auto dim : op.dims) strides.push_back(x.strides[static_cast<int>(dim)]);
  alias(call.out[0], call.in[0], strides, x.offset);
}

void run(const op::Expand& op, Call call) {
  const Node& x = *call.in[0].node();
  alias(call.out[0], call.in[0], broadcast_strides(x.desc.shape, x.strides, op.shape), x.offset);
}

void run(const op::Slice& op, Call call) {
  const Node& x = *call.in[0].node();
  const std::int64_t offset = x.offset + slice_offset(x.strides, op.begin, op.size);
  alias(call.out[0], call.in[0], stepped_strides(x.strides, op.step), offset);
}

void run(const op::Unfold& op, Call call) {
  const Node& x = *call.in[0].node();
  Dims strides = x.strides;
  strides.push_back(wrapping_multiply(strides[op.dim], op.dilation));
  strides[op.dim] = wrapping_multiply(strides[op.dim], op.step);
  alias(call.out[0], call.in[0], strides, x.offset);
}

}  // namespace kiln::strided
