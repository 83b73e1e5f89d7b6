#include "kiln/optim/clip.hpp"

namespace kiln {
namespace {

Value norm_of(const GradientsParams& grads) {
  Value total;
  for (const auto& [path, grad] : grads.by_path) {
    const Value part = sum(square(cast(grad, DType::F32)));
    total = total.empty() ? part : total + part;
  }
  return sqrt(total);
}

void require_limit(std::string_view function, double limit) {
  require<ArgumentError>(limit > 0, function, ": a limit of ", limit, " is not positive");
}

}  // namespace

Tensor<0> global_norm(const GradientsParams& grads) {
  require<ArgumentError>(!grads.by_path.empty(), "global_norm: there are no gradients");
  return Typed{norm_of(grads)};
}

GradientsParams clip_by_global_norm(GradientsParams grads, double limit) {
  require_limit("clip_by_global_norm", limit);
  if (grads.by_path.empty()) return grads;
  const Value scale = minimum(limit / (norm_of(grads) + 1e-6), 1.0);  // the 1e-6 is PyTorch's, against 0 / 0
  for (auto& [path, grad] : grads.by_path) grad = grad * cast(scale, grad.dtype());
  return grads;
}

GradientsParams clip_by_value(GradientsParams grads, double limit) {
  require_limit("clip_by_value", limit);
  for (auto& [path, grad] : grads.by_path) grad = clamp(grad, -limit, limit);
  return grads;
}

}  // namespace kiln
