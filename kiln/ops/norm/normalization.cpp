#include "kiln/ops/norm/normalization.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"

namespace kiln {
namespace {

/// A parameter in the element type of x.
Value like(const Value& parameter, const Value& x) {
  return parameter.empty() ? parameter : cast(parameter, x.dtype());
}

Value by_channel(std::string_view name, const Value& parameter, const Value& x) {
  require<ShapeError>(parameter.shape() == Shape{x.dim(1)}, name, ": ", parameter.shape(), " does not fit the ",
                      x.dim(1), " channels of ", x.shape());
  Shape shape = Shape::filled(x.rank(), 1);
  shape[1] = x.dim(1);
  return reshape(parameter, shape);
}

void require_channels(std::string_view name, const Value& x) {
  op::require_float(name, x);
  require<ShapeError>(x.rank() >= 2, name, ": x must be [batch, channels, ...], got ", x.shape());
}

/// The updated running statistic, in its own element type; nothing is recorded.
Value moved(const Value& running, const Value& batch, double momentum) {
  if (running.empty()) return running;
  require<ShapeError>(running.shape() == batch.shape(), "batch_norm: running statistics ", running.shape(),
                      " do not fit ", batch.shape(), " channels");
  return cast(running * (1 - momentum) + batch * momentum, running.dtype());
}

}  // namespace

BatchNormResult batch_norm_training(const Value& x, const Value& running_mean, const Value& running_variance,
                                    const Value& weight, const Value& bias, const BatchNormOptions& options) {
  require_channels("batch_norm", x);
  const std::int64_t count = x.numel() / std::max<std::int64_t>(x.dim(1), 1);
  require<ShapeError>(count > 1 || x.dim(1) == 0, "batch_norm: training needs two elements or more per channel, ",
                      x.shape(), " has ", count);
  const Values results = emit_all(op::BatchNorm{}, {x, like(weight, x), like(bias, x), options.epsilon});
  const NoGrad pause;
  const Value mean = results[1].detach(), variance = results[2].detach();
  const Value unbiased = variance * (static_cast<double>(count) / static_cast<double>(count - 1));
  return {results[0], mean, variance, moved(running_mean, mean, options.momentum),
          moved(running_variance, unbiased, options.momentum)};
}

Value batch_norm(const Value& x, const Value& running_mean, const Value& running_variance, const Value& weight,
                 const Value& bias, double epsilon) {
  require_channels("batch_norm", x);
  const DType sums = op::wide(x.dtype());
  const auto channel = [&](const Value& parameter) { return by_channel("batch_norm", cast(parameter, sums), x); };
  require<ArgumentError>(running_mean && running_variance,
                         "batch_norm: inference needs running statistics; batch_norm_training() does without");
  op::require_epsilon("batch_norm", epsilon);
  Value slope = rsqrt(channel(running_variance) + epsilon);
  if (weight) slope = slope * channel(weight);
  const Value centred = (cast(x, sums) - channel(running_mean)) * slope;
  return cast(bias ? centred + channel(bias) : centred, x.dtype());
}

Value group_norm(const Value& x, std::int64_t groups, const Value& weight, const Value& bias, double epsilon) {
  require_channels("group_norm", x);
  return emit(op::GroupNorm{groups}, {x, like(weight, x), like(bias, x), epsilon});
}

Value instance_norm(const Value& x, const Value& weight, const Value& bias, double epsilon) {
  require_channels("instance_norm", x);
  if (x.dim(1) == 0) return x;
  return group_norm(x, x.dim(1), weight, bias, epsilon);
}

namespace {

/// Normalises over the last `dims` dimensions: each of their elements is a channel, and all of them are one group.
Value norm_of_rows(std::string_view name, const Value& x, int dims, const Value& weight, double epsilon, bool centred) {
  op::require_float(name, x);
  require<ArgumentError>(1 <= dims && dims <= x.rank(), name, ": ", dims, " dimensions are not among those of ",
                         x.shape());
  std::int64_t width = 1;
  for (int i = 1; i <= dims; ++i) width = multiply_sizes(name, width, x.dim(-i));
  const Value rows = reshape(x, {width ? x.numel() / width : 0, width});
  const Value scale = weight ? reshape(like(weight, x), {width}) : weight;
  return reshape(emit(op::GroupNorm{1, centred}, {rows, scale, {}, epsilon}), x.shape());
}

}  // namespace

Value layer_norm(const Value& x, int dims, double epsilon) {
  return norm_of_rows("layer_norm", x, dims, {}, epsilon, true);
}

Value rms_norm(const Value& x, const Value& weight, double epsilon) {
  op::require_float("rms_norm", x);
  if (weight.empty()) return norm_of_rows("rms_norm", x, 1, {}, epsilon, false);
  const Shape &shape = x.shape(), &last = weight.shape();
  bool fits = !last.empty() && last.size() <= shape.size();
  for (int i = 1; fits && i <= last.size(); ++i) fits = shape[shape.size() - i] == last[last.size() - i];
  require<ShapeError>(fits, "rms_norm: weight ", last, " does not cover the last dimensions of ", shape);
  return norm_of_rows("rms_norm", x, last.size(), weight, epsilon, false);
}

Value local_response_norm(const Value& x, const LocalResponseNormOptions& options) {
  require_channels("local_response_norm", x);
  require<ArgumentError>(options.size > 0, "local_response_norm: the size must be positive, got ", options.size);
  const Value wide = cast(x, op::wide(x.dtype()));
  Dims before = Dims::filled(x.rank(), 0), after = before;
  before[1] = options.size / 2;
  after[1] = (options.size - 1) / 2;
  const Value squares = pad(square(wide), before, after);
  Value total = narrow(squares, 1, 0, x.dim(1));
  for (std::int64_t i = 1; i < options.size; ++i) total = total + narrow(squares, 1, i, x.dim(1));
  const double share = options.alpha / static_cast<double>(options.size);
  return cast(wide / pow(total * share + options.k, options.beta), x.dtype());
}

}  // namespace kiln
