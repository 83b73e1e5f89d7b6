#include "kiln/nn/norm/sync_batch_norm.hpp"

#include "kiln/ops/collective/collective.hpp"

namespace kiln::nn {

BatchNormResult sync_batch_norm_training(const Value& x, const Value& running_mean, const Value& running_variance,
                                         const Value& weight, const Value& bias, const BatchNormOptions& options,
                                         const Ranks& ranks) {
  const std::int64_t channels = x.dim(1);
  require<ShapeError>(x.numel() > 0, "BatchNorm: this rank's part of the batch, ", x.shape(), ", has no elements");
  const Value wide = x.dtype() == DType::F64 ? x : cast(x, DType::F32);
  Dims others;
  Shape row = Shape::filled(x.rank(), 1);
  row[1] = channels;
  for (int i = 0; i < x.rank(); ++i)
    if (i != 1) others.push_back(i);

  // Combines the means and sums of squared distances of the ranks' parts (Chan, Golub, LeVeque, "Updating formulae and
  // a pairwise algorithm for computing sample variances", 1979), with one exchange in each direction.
  const std::int64_t of_each = x.numel() / channels;
  const auto part_count = full({1}, static_cast<double>(of_each), x.device(), wide.dtype());
  const Value part_mean = mean(wide, others, true);
  const Value part_squares = sum(square(wide - part_mean), others);
  const Value parts = all_gather(unsqueeze(cat(Values{reshape(part_mean, {channels}), part_squares, part_count}, 0), 0),
                                 ranks);  // [ranks, 2 c + 1]
  const Value means = narrow(parts, 1, 0, channels), squares = narrow(parts, 1, channels, channels);
  const Value counts = narrow(parts, 1, 2 * channels, 1), count = sum(counts);
  const Value whole_mean = sum(counts * means, {0}) / count;
  const Value whole_squares = sum(squares + counts * square(means - whole_mean), {0});
  const Value variance = whole_squares / count;

  Value y = (wide - reshape(whole_mean, row)) * rsqrt(reshape(variance, row) + options.epsilon);
  if (!weight.empty()) y = y * reshape(weight, row);
  if (!bias.empty()) y = y + reshape(bias, row);
  const auto moved = [&](const Value& running, const Value& now) {
    if (running.empty()) return running;
    return cast(running * (1 - options.momentum) + now.detach() * options.momentum, running.dtype());
  };
  return {cast(y, x.dtype()), whole_mean.detach(), variance.detach(), moved(running_mean, whole_mean),
          moved(running_variance, whole_squares / (count - 1))};
}

void set_ranks(const ModuleRef& model, const Ranks& ranks) {
  require<ArgumentError>(ranks != nullptr, "sync_batch_norm: no communicator was given");
  if (model.get<BatchNorm>()) static_cast<BatchNorm*>(model.object())->ranks = ranks;
  if (!model.type().each_part) return;
  model.type().each_part(model.object(), [&](std::string_view, void* part, const PartType& type) {
    set_ranks(ModuleRef(part, type), ranks);
  });
}

}  // namespace kiln::nn
