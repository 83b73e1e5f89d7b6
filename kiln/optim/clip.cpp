#include "kiln/optim/clip.hpp"

#include <utility>

namespace kiln {
namespace {

constexpr double kNotZero = 1e-6;  // PyTorch's, against 0 / 0

Value square_sum(const Value& grad) { return sum(square(cast(grad, promote(grad.dtype(), DType::F32)))); }

Value norm_of(const GradientsParams& grads) {
  Value total;
  for (const auto& [path, grad] : grads.by_path) {
    const Value part = cast(square_sum(grad), DType::F32);
    total = total.empty() ? part : total + part;
  }
  return sqrt(total);
}

void require_limit(std::string_view function, double limit) {
  require<ArgumentError>(limit > 0, function, ": a limit of ", limit, " is not positive");
}

/// The norm of each unit, broadcasting to `x`.
Value unit_norms(const Value& x) {
  Dims inner;
  for (int i = x.rank() > 1 ? 1 : 0; i < x.rank(); ++i) inner.push_back(i);
  const Value squares = square(cast(x, promote(x.dtype(), DType::F32)));
  return sqrt(x.rank() == 0 ? squares : sum(squares, inner, true));
}

}  // namespace

Tensor<0> global_norm(const GradientsParams& grads) {
  require<ArgumentError>(!grads.by_path.empty(), "global_norm: there are no gradients");
  return Typed{norm_of(grads)};
}

GradientsParams clip_by_global_norm(GradientsParams grads, double limit) {
  require_limit("clip_by_global_norm", limit);
  if (grads.by_path.empty()) return grads;
  const Value scale = minimum(limit / (norm_of(grads) + kNotZero), 1.0);
  for (auto& [path, grad] : grads.by_path) grad = grad * cast(scale, grad.dtype());
  return grads;
}

GradientsParams clip_by_norm(GradientsParams grads, double limit) {
  require_limit("clip_by_norm", limit);
  for (auto& [path, grad] : grads.by_path) {
    const Value scale = minimum(limit / (sqrt(square_sum(grad)) + kNotZero), 1.0);
    grad = grad * cast(scale, grad.dtype());
  }
  return grads;
}

GradientsParams clip_by_value(GradientsParams grads, double limit) {
  require_limit("clip_by_value", limit);
  for (auto& [path, grad] : grads.by_path) grad = clamp(grad, -limit, limit);
  return grads;
}

GradientsParams clip_adaptively(GradientsParams grads, const std::map<std::string, Value>& params, double limit,
                                double least) {
  require_limit("clip_adaptively", limit);
  require_limit("clip_adaptively", least);
  for (auto& [path, grad] : grads.by_path) {
    const auto param = params.find(path);
    require<ArgumentError>(param != params.end(), "clip_adaptively: there is no parameter '", path, '\'');
    const Value most = maximum(unit_norms(param->second), least) * limit;
    const Value scale = minimum(most / maximum(unit_norms(grad), kNotZero), 1.0);
    grad = grad * cast(scale, grad.dtype());
  }
  return grads;
}

void ClipOptions::check() const {
  for (const auto& [name, limit] : {std::pair("value", value), std::pair("norm", norm), std::pair("adaptive", adaptive),
                                    std::pair("global_norm", global_norm)})
    if (limit) require_limit(text("ClipOptions: ", name), *limit);
}

GradientsParams ClipOptions::clipped(GradientsParams grads, const std::map<std::string, Value>& params) const {
  if (value) grads = clip_by_value(std::move(grads), *value);
  if (norm) grads = clip_by_norm(std::move(grads), *norm);
  if (adaptive) grads = clip_adaptively(std::move(grads), params, *adaptive);
  if (global_norm) grads = clip_by_global_norm(std::move(grads), *global_norm);
  return grads;
}

}  // namespace kiln
