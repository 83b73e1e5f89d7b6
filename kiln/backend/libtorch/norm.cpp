// Normalisations, and the loss that is made of one.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/loss/loss_ops.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"
#include "kiln/ops/norm/norm_ops.hpp"

namespace kiln::libtorch {
namespace {

/// x minus its mean along a dimension. ATen's own statistics are sums of squares, which leave the range where those of
/// distances do not.
at::Tensor centred(const at::Tensor& x, at::IntArrayRef dims) { return x - x.mean(dims, true); }

double number_of(const Value& value) { return value.scalar().to<double>(); }

at::Tensor ones(const at::Tensor& x) { return at::ones({x.size(1)}, x.options()); }

/// x in row-major order, each group minus its mean.
at::Tensor by_group(const at::Tensor& x, std::int64_t groups) {
  return centred(x.reshape({x.size(0), groups, -1}), 2).reshape(x.sizes()).contiguous();
}

/// x as [batch, channels, elements] for ATen's group norm.
struct Groups {
  explicit Groups(const at::Tensor& x) : batch(x.size(0)), channels(x.size(1)), each(x.numel() / (batch * channels)) {}
  std::int64_t batch, channels, each;
};

}  // namespace

bool run(const op::Softmax& op, Call call) {
  const at::Tensor x = computed(call.in[0]);
  give(call.out[0], op.log ? at::log_softmax(x, op.dim) : at::softmax(x, op.dim));
  return true;
}

bool run(const op::CrossEntropy&, Call call) {
  using op::CrossEntropy;
  const at::Tensor scores = computed(call.in[CrossEntropy::logits]), targets = computed(call.in[CrossEntropy::targets]);
  if (scores.size(1) == 0) return false;
  // The expansion says which target is no class.
  if (at::logical_or(targets.lt(0), targets.ge(scores.size(1))).any().item<bool>()) return false;
  const at::Tensor largest = scores.amax(1);
  give(call.out[CrossEntropy::losses], at::nll_loss(at::log_softmax(scores, 1), targets, {}, at::Reduction::None));
  give(call.out[CrossEntropy::largest], largest);
  give(call.out[CrossEntropy::log_sum], at::logsumexp(scores - largest.unsqueeze(1), 1));
  return true;
}

bool run(const op::LayerNorm&, Call call) {
  using op::LayerNorm;
  const at::Tensor x = computed(call.in[LayerNorm::x]), weight = computed(call.in[LayerNorm::weight]);
  const at::Tensor distance = centred(x.flatten(x.dim() - weight.dim()), x.dim() - weight.dim());
  give(call.out[0], at::layer_norm(distance.reshape(x.sizes()), weight.sizes(), weight,
                                   computed(call.in[LayerNorm::bias]), number_of(call.in[LayerNorm::epsilon])));
  return true;
}

bool run(const op::BatchNorm&, Call call) {
  using op::BatchNorm;
  at::Tensor x = computed(call.in[BatchNorm::x]);
  x = x.dim() == 2 ? x.unsqueeze(2) : x.flatten(2);
  const at::Tensor distance = centred(x, {0, 2}), variance = at::square(distance).mean(at::IntArrayRef{0, 2});
  const at::Tensor y =
      at::batch_norm(distance, optional(call.in[BatchNorm::weight]), optional(call.in[BatchNorm::bias]),
                     at::zeros_like(variance), variance, false, 0, number_of(call.in[BatchNorm::epsilon]), false);
  give(call.out[0], y.reshape(to_vector(call.out[0].shape())));
  give(call.out[1], x.mean(at::IntArrayRef{0, 2}));
  give(call.out[2], variance);
  return true;
}

bool run(const op::BatchNormGrad&, Call call) {
  using op::BatchNormGrad;
  const at::Tensor x = computed(call.in[BatchNormGrad::x]), grad = computed(call.in[BatchNormGrad::grad]);
  const double epsilon = number_of(call.in[BatchNormGrad::epsilon]);
  const at::Tensor mean = computed(call.in[BatchNormGrad::mean]);
  const at::Tensor inverse = at::rsqrt(computed(call.in[BatchNormGrad::variance]) + epsilon);
  const c10::optional<at::Tensor> weight = optional(call.in[BatchNormGrad::weight]);
  const auto [dx, dweight, dbias] =
      at::native_batch_norm_backward(grad.contiguous(), x.contiguous(), weight ? *weight : ones(x), c10::nullopt,
                                     c10::nullopt, mean, inverse, true, epsilon, {true, true, true});
  give(call.out[0], dx);
  give(call.out[1], dweight);
  give(call.out[2], dbias);
  return true;
}

bool run(const op::GroupNorm& op, Call call) {
  using op::GroupNorm;
  if (!op.centred) return false;
  const at::Tensor x = by_group(computed(call.in[GroupNorm::x]), op.groups);
  const Groups sizes(x);
  const at::Tensor y = std::get<0>(
      at::native_group_norm(x, optional(call.in[GroupNorm::weight]), optional(call.in[GroupNorm::bias]), sizes.batch,
                            sizes.channels, sizes.each, op.groups, number_of(call.in[GroupNorm::epsilon])));
  give(call.out[0], y);
  return true;
}

bool run(const op::GroupNormGrad& op, Call call) {
  using op::GroupNormGrad;
  if (!op.centred) return false;
  const at::Tensor x = by_group(computed(call.in[GroupNormGrad::x]), op.groups);
  const at::Tensor grad = computed(call.in[GroupNormGrad::grad]).to(x.scalar_type()).contiguous().view(x.sizes());
  const Groups sizes(x);
  const c10::optional<at::Tensor> weight = optional(call.in[GroupNormGrad::weight]);
  const auto [y, mean, inverse] =
      at::native_group_norm(x, c10::nullopt, c10::nullopt, sizes.batch, sizes.channels, sizes.each, op.groups,
                            number_of(call.in[GroupNormGrad::epsilon]));
  const auto [dx, dweight, dbias] =
      at::native_group_norm_backward(grad, x, mean, inverse, weight ? *weight : ones(x), sizes.batch, sizes.channels,
                                     sizes.each, op.groups, {true, true, true});
  give(call.out[0], dx);
  give(call.out[1], dweight);
  give(call.out[2], dbias);
  return true;
}

}  // namespace kiln::libtorch
