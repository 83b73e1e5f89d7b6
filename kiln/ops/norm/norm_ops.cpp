#include "kiln/ops/norm/norm_ops.hpp"

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {

Descs Softmax::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_float(kName, in[0]);
  require_dim(kName, dim, in[0].rank());
  return one(in[0].shape(), in[0].dtype());
}

Values Softmax::expand(Inputs in) const {
  if (in[0].numel() == 0) return {in[0] * 1.0};
  const Value shifted = in[0] - max(in[0], {dim}, true).detach();
  const Value powers = exp(shifted), total = sum(powers, {dim}, true);
  return {log ? shifted - kiln::log(total) : powers / total};
}

void Softmax::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value y = backward.out(), g = backward.grad();
    if (log) return g - exp(y) * sum(g, {dim}, true);
    const Value weighted = g * y;
    return weighted - y * sum(weighted, {dim}, true);
  });
}

namespace {

/// The trailing dimensions of a tensor of rank `rank` that a weight of rank `weight_rank` covers.
Dims trailing(int rank, int weight_rank) {
  Dims dims;
  for (int i = rank - weight_rank; i < rank; ++i) dims.push_back(i);
  return dims;
}

Value inverse_deviation(const Value& centred, const Dims& dims, const Value& epsilon) {
  return rsqrt(mean(square(centred), dims, true) + epsilon);
}

}  // namespace

Descs LayerNorm::infer(Inputs in) const {
  require_count(kName, in, 4, 4);
  require_float(kName, in[x]);
  const Shape &shape = in[x].shape(), &last = in[weight].shape();
  for (const Value& parameter : {in[weight], in[bias]}) {
    require_tensor(kName, parameter);
    require_same_dtype(kName, in[x], parameter);
    require<ShapeError>(parameter.shape() == last, "layer_norm: weight ", last, " and bias ", parameter.shape(),
                        " differ");
  }
  bool fits = !last.empty() && last.size() <= shape.size();
  for (int i = 1; fits && i <= last.size(); ++i) fits = shape[shape.size() - i] == last[last.size() - i];
  require<ShapeError>(fits, "layer_norm: weight ", last, " does not cover the last dimensions of ", shape);
  require_epsilon(kName, in[epsilon]);
  return one(shape, in[x].dtype());
}

Values LayerNorm::expand(Inputs in) const {
  const Dims dims = trailing(in[x].rank(), in[weight].rank());
  const Value distance = centred(in[x], dims);
  return {distance * inverse_deviation(distance, dims, in[epsilon]) * in[weight] + in[bias]};
}

// Treats a row as a group whose channels are its elements.
void LayerNorm::vjp(Backward& backward) const {
  const Value &data = backward.in(x), &scale = backward.in(weight);
  const std::int64_t width = scale.numel(), count = width ? data.numel() / width : 0;
  const auto rows = [&](const Value& value) { return reshape(value, {count, width}); };
  const Values results = emit_differentiable(
      GroupNormGrad{1}, {rows(data), reshape(scale, {width}), backward.in(epsilon), rows(backward.grad())});
  backward.to(x, [&] { return reshape(results[0], data.shape()); });
  for (const Slot slot : {weight, bias})
    backward.to(slot, [&] { return reshape(results[static_cast<std::size_t>(slot)], scale.shape()); });
}

bool Softmax::is_row_wise(int axis) const { return dim > axis; }

}  // namespace op

Value softmax(const Value& x, Dim dim) {
  if (is_point("softmax", x, dim)) return point_of(softmax(line_of(x), 0));
  return emit(op::Softmax{wrap_dim("softmax", dim, x.rank())}, {as_float(x)});
}
Value log_softmax(const Value& x, Dim dim) {
  if (is_point("log_softmax", x, dim)) return point_of(log_softmax(line_of(x), 0));
  return emit(op::Softmax{wrap_dim("log_softmax", dim, x.rank()), true}, {as_float(x)});
}
Value layer_norm(const Value& x, const Value& weight, const Value& bias, double epsilon) {
  const CalledAs named("layer_norm");
  require<ArgumentError>(weight || bias,
                         "layer_norm: without weight and bias, call layer_norm(x, dims) with the number of dimensions");
  return emit(op::LayerNorm{}, {x, weight ? weight : ones_like(bias), bias ? bias : zeros_like(weight), epsilon});
}

}  // namespace kiln
