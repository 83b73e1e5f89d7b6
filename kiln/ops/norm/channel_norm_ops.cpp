#include "kiln/ops/norm/channel_norm_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

/// Checks that x is [batch, channels, ...] and parameters are [channels] or absent.
void require_channels(std::string_view name, const Value& x, std::initializer_list<Value> parameters,
                      const Value& epsilon) {
  require_float(name, x);
  require<ShapeError>(x.rank() >= 2, name, ": x must be [batch, channels, ...], got ", x.shape());
  for (const Value& parameter : parameters) {
    if (parameter.empty()) continue;
    require_tensor(name, parameter);
    require_same_dtype(name, x, parameter);
    require<ShapeError>(parameter.shape() == Shape{x.dim(1)}, name, ": weight or bias ", parameter.shape(),
                        " does not fit the ", x.dim(1), " channels of ", x.shape());
  }
  require_epsilon(name, epsilon);
}

void require_groups(const Value& x, std::int64_t groups) {
  require<ArgumentError>(groups > 0 && x.dim(1) % groups == 0, "group_norm: ", groups, " groups do not divide the ",
                         x.dim(1), " channels of ", x.shape());
}

/// [channels] -> [1, channels, 1, ...]; an absent factor is 1.
Value by_channel(const Value& x, int rank) {
  if (x.empty()) return 1.0;
  Shape shape = Shape::filled(rank, 1);
  shape[1] = x.dim(0);
  return reshape(x, shape);
}
/// The dimensions except the channels.
Dims beside_channels(int rank) {
  Dims dims{0};
  for (int i = 2; i < rank; ++i) dims.push_back(i);
  return dims;
}
/// The sum over all dimensions except the channels: [channels].
Value channel_sum(const Value& x) { return sum(x, beside_channels(x.rank())); }

Value scale_and_shift(const Value& x, const Value& weight, const Value& bias) {
  const Value scaled = weight ? x * by_channel(weight, x.rank()) : x;
  return bias ? scaled + by_channel(bias, x.rank()) : scaled;
}

/// The gradient of x from that of (x - mean) * inverse, where both are functions of x over `dims`.
Value through_statistics(const Value& g, const Value& normal, const Value& inverse, const Dims& dims, bool centred) {
  const Value turned = g - normal * mean(g * normal, dims, true);
  return inverse * (centred ? turned - mean(g, dims, true) : turned);
}

/// x as [batch, groups, elements], so that a group is the last dimension.
Value by_group(const Value& x, std::int64_t groups) {
  const std::int64_t rows = x.dim(0) * groups;
  return reshape(x, {x.dim(0), groups, rows ? x.numel() / rows : 0});
}

struct Normal {
  Value x, inverse;  // normalised, [batch, groups, elements]; 1 / standard deviation
};
Normal normalise(const Value& x, std::int64_t groups, bool centred, const Value& epsilon) {
  const Value grouped = by_group(x, groups);
  const Value kept = centred ? op::centred(grouped, {2}) : grouped;
  const Value inverse = rsqrt(mean(square(kept), {2}, true) + epsilon);
  return {kept * inverse, inverse};
}

}  // namespace

Descs BatchNorm::infer(Inputs in) const {
  require_count(kName, in, 4, 4);
  require_channels(kName, in[x], {in[weight], in[bias]}, in[epsilon]);
  Descs descs = one(in[x].shape(), in[x].dtype());
  for (int i = 0; i < 2; ++i) descs.push_back({{in[x].dim(1)}, wide(in[x].dtype())});
  return descs;
}

Values BatchNorm::expand(Inputs in) const {
  if (is_half(in[x].dtype())) return in_float32(*this, in);
  const Dims dims = beside_channels(in[x].rank());
  const Shape channels{in[x].dim(1)};
  const Value distance = centred(in[x], dims), spread = mean(square(distance), dims, true);
  return {scale_and_shift(distance * rsqrt(spread + in[epsilon]), in[weight], in[bias]),
          reshape(mean(in[x], dims, true), channels), reshape(spread, channels)};
}

void BatchNorm::vjp(Backward& backward) const {
  const Values results =
      emit_differentiable(BatchNormGrad{}, {backward.in(x), backward.in_if_any(weight), backward.in(epsilon),
                                            backward.out(1).detach(), backward.out(2).detach(), backward.grad()});
  for (const Slot slot : {x, weight, bias}) backward.to(slot, [&] { return results[static_cast<std::size_t>(slot)]; });
}

Descs BatchNormGrad::infer(Inputs in) const {
  require_count(kName, in, 6, 6);
  require_channels(kName, in[x], {in[weight]}, in[epsilon]);
  for (const Slot slot : {mean, variance}) require_like(kName, in[slot], {in[x].dim(1)}, wide(in[x].dtype()));
  require_like(kName, in[grad], in[x].shape(), in[x].dtype());
  Descs descs = one(in[x].shape(), in[x].dtype());
  for (int i = 0; i < 2; ++i) descs.push_back({{in[x].dim(1)}, in[x].dtype()});
  return descs;
}

// Only kernels read mean and variance: they are functions of x, and a gradient of this expansion must pass through
// them.
Values BatchNormGrad::expand(Inputs in) const {
  if (is_half(in[x].dtype())) return in_float32(*this, in);
  const Dims dims = beside_channels(in[x].rank());
  const Value distance = centred(in[x], dims);
  const Value inverse = rsqrt(kiln::mean(square(distance), dims, true) + in[epsilon]), normal = distance * inverse;
  const Value g = in[grad] * by_channel(in[weight], in[x].rank());
  return {through_statistics(g, normal, inverse, dims, true), channel_sum(in[grad] * normal), channel_sum(in[grad])};
}

void BatchNormGrad::vjp(Backward&) const {
  fail<AutodiffError>("batch_norm_grad: has no gradient; differentiate batch_norm with create_graph");
}

Descs GroupNorm::infer(Inputs in) const {
  require_count(kName, in, 4, 4);
  require_channels(kName, in[x], {in[weight], in[bias]}, in[epsilon]);
  require_groups(in[x], groups);
  return one(in[x].shape(), in[x].dtype());
}

Values GroupNorm::expand(Inputs in) const {
  if (is_half(in[x].dtype())) return in_float32(*this, in);
  const Value normal = normalise(in[x], groups, centred, in[epsilon]).x;
  return {scale_and_shift(reshape(normal, in[x].shape()), in[weight], in[bias])};
}

void GroupNorm::vjp(Backward& backward) const {
  const Values results =
      emit_differentiable(GroupNormGrad{groups, centred},
                          {backward.in(x), backward.in_if_any(weight), backward.in(epsilon), backward.grad()});
  for (const Slot slot : {x, weight, bias}) backward.to(slot, [&] { return results[static_cast<std::size_t>(slot)]; });
}

Descs GroupNormGrad::infer(Inputs in) const {
  require_count(kName, in, 4, 4);
  require_channels(kName, in[x], {in[weight]}, in[epsilon]);
  require_groups(in[x], groups);
  const DType dtype = in[x].dtype();
  require<ShapeError>(in[grad].numel() == in[x].numel(), kName, ": the gradient of ", in[x].shape(), " cannot be ",
                      in[grad].shape());
  require<DTypeError>(in[grad].dtype() == dtype || wide(in[grad].dtype()) == dtype, kName, ": the gradient of ", dtype,
                      " cannot be ", in[grad].dtype());
  Descs descs = one(in[x].shape(), dtype);
  for (int i = 0; i < 2; ++i) descs.push_back({{in[x].dim(1)}, dtype});
  return descs;
}

Values GroupNormGrad::expand(Inputs in) const {
  if (is_half(in[x].dtype())) return in_float32(*this, in);
  const Value given = cast(reshape(in[grad], in[x].shape()), in[x].dtype());
  const auto [normal, inverse] = normalise(in[x], groups, centred, in[epsilon]);
  const Value g = by_group(given * by_channel(in[weight], in[x].rank()), groups);
  return {reshape(through_statistics(g, normal, inverse, {2}, centred), in[x].shape()),
          channel_sum(given * reshape(normal, in[x].shape())), channel_sum(given)};
}

void GroupNormGrad::vjp(Backward&) const {
  fail<AutodiffError>("group_norm_grad: has no gradient; differentiate group_norm with create_graph");
}

}  // namespace kiln::op
