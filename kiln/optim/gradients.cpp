#include "kiln/optim/gradients.hpp"

#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

void add_to(GradientsParams& total, const GradientsParams& grads, const Device& device) {
  for (const auto& [path, grad] : grads.by_path) {
    const Value moved = to_device(cast(grad, promote(grad.dtype(), DType::F32)), device);
    const auto [place, fresh] = total.by_path.try_emplace(path, moved);
    if (fresh) continue;
    require<ShapeError>(place->second.shape() == moved.shape(), "gradients of '", path, "' have shapes ",
                        place->second.shape(), " and ", moved.shape());
    place->second = place->second + moved;
  }
}

GradientsParams scaled(GradientsParams grads, double factor) {
  const NoGrad pause;
  for (auto& [path, grad] : grads.by_path) grad = grad * factor;
  return grads;
}

}  // namespace

GradientsParams to_device(GradientsParams grads, const Device& device) {
  for (auto& [path, grad] : grads.by_path) grad = to_device(grad, device);
  return grads;
}

GradientsParams sum_of(std::span<const GradientsParams> grads, const Device& device) {
  const NoGrad pause;
  GradientsParams total;
  for (const GradientsParams& each : grads) add_to(total, each, device);
  return total;
}

GradientsParams mean_of(std::span<const GradientsParams> grads, const Device& device) {
  require<ArgumentError>(!grads.empty(), "mean_of: there are no gradients");
  return scaled(sum_of(grads, device), 1.0 / static_cast<double>(grads.size()));
}

void GradientsAccumulator::add(const GradientsParams& grads) {
  const NoGrad pause;
  GradientsParams total = sum_;
  for (const auto& [path, grad] : grads.by_path) add_to(total, {{{path, grad}}}, grad.device());
  Values made;
  for (const auto& [path, grad] : total.by_path) made.push_back(grad);
  run_pending(made);
  sum_ = std::move(total);
  ++count_;
}

GradientsParams GradientsAccumulator::sum() {
  require<ArgumentError>(count_ > 0, "GradientsAccumulator: nothing was added");
  count_ = 0;
  return std::exchange(sum_, {});
}

GradientsParams GradientsAccumulator::mean() {
  const double share = 1.0 / static_cast<double>(count_);
  return scaled(sum(), share);
}

}  // namespace kiln
