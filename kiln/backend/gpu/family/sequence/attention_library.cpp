// Attention by the device's own library, if there is enough of it.
#include "kiln/backend/gpu/family/sequence/attention.hpp"

namespace kiln::gpu::family {
namespace {

gpu::Attention::Tensor tensor(const Array& x) { return {x.data, x.shape, x.strides}; }

/// The fields that both ops have in common.
gpu::Attention requested_by(const Call& call, bool causal, std::int64_t window) {
  using Op = op::Attention;
  const Array q = read(call.in[Op::q]), k = read(call.in[Op::k]), v = read(call.in[Op::v]);
  return {.dtype = q.dtype,
          .causal = causal,
          .window = window < q.shape[2] + k.shape[2] ? window : 0,
          .scale = call.in[Op::scale].scalar().to<double>(),
          .q = tensor(q),
          .k = tensor(k),
          .v = tensor(v)};
}

bool is_known(const Library* library, const Call& call) {
  using Op = op::Attention;
  if (!library) return false;
  for (const Op::Slot slot : {Op::mask, Op::bias, Op::softcap})
    if (!call.in[slot].empty()) return false;
  const Shape &q = call.in[Op::q].shape(), &v = call.in[Op::v].shape();
  const auto most = static_cast<double>(library->worth().min_library_attention);
  return static_cast<double>(numel(q)) * static_cast<double>(v[2]) +
             static_cast<double>(q[0] * q[1] * q[2]) * static_cast<double>(v[2] * v[3]) >=
         most;
}

}  // namespace

bool attend(Gpu& gpu, const op::Attention& op, const Call& call, const Array& out, const Array& log_sum) {
  Library* const library = gpu.driver().library();
  if (!is_known(library, call) || out.numel() == 0 || call.in[op::Attention::k].numel() == 0) return false;
  gpu::Attention asked = requested_by(call, op.causal, op.window);
  asked.out = tensor(out);
  asked.log_sum = log_sum.data;
  return library->attend(asked);
}

bool attend(Gpu& gpu, const op::AttentionGrad& op, const Call& call, const Array& log_sum,
            std::span<const Array> made) {
  using Op = op::AttentionGrad;
  Library* const library = gpu.driver().library();
  if (!is_known(library, call) || call.in[Op::out].empty() || call.in[Op::out].numel() == 0 || made[1].numel() == 0)
    return false;
  gpu::Attention asked = requested_by(call, op.causal, op.window);
  asked.kind = gpu::Attention::Kind::Gradient;
  asked.out = tensor(read(call.in[Op::out]));
  asked.grad = tensor(read(call.in[Op::grad]));
  asked.log_sum = log_sum.data;
  asked.q_grad = tensor(made[0]);
  asked.k_grad = tensor(made[1]);
  asked.v_grad = tensor(made[2]);
  Value held;
  if (const std::int64_t workspace = library->attention_workspace(asked)) {
    try {
      held = gpu.scratch({Shape{workspace}, DType::U8});
      asked.workspace = read(held).data;
      asked.workspace_bytes = workspace;
    } catch (const MemoryError&) {}  // it is slower without
  }
  return library->attend(asked);
}

}  // namespace kiln::gpu::family
