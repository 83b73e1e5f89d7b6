#include "kiln/optim/clip.hpp"

#include <limits>
#include <utility>

#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln {
namespace {

constexpr double kNotZero = 1e-6;  // PyTorch's value; avoids 0 / 0

DType wide(DType dtype) { return promote(dtype, DType::F32); }

/// A norm, and the same scaled down by a power of two: finite where no element is infinite or NaN, even if the norm
/// exceeds its type. Norms so small that scaling them costs digits are nothing beside kNotZero.
struct Length {
  static constexpr double kFactor = 0x1p-40;
  Value scaled_down;
  Value value = scaled_down * (1 / kFactor);
};
Length length_of(const Value& x, const Dims& dims, bool keep = false) {
  return {euclidean_length(cast(x, wide(x.dtype())) * Length::kFactor, dims, keep)};
}
Length length_of(const Value& x) { return length_of(x, all_dims(x)); }

/// The norm of all gradients together, in `dtype`, from `norm_of` each.
Value all_together(const GradientsParams& grads, DType dtype, FunctionRef<Value(const Value&)> norm_of) {
  Values norms;
  for (const auto& [path, grad] : grads.by_path) norms.push_back(norm_of(grad));
  return euclidean_length(ravel(norms, dtype), {0});
}
DType common_type(const GradientsParams& grads) {
  DType dtype = DType::F32;
  for (const auto& [path, grad] : grads.by_path) dtype = promote(dtype, grad.dtype());
  return dtype;
}
Value scaled_length(const GradientsParams& grads, DType dtype) {
  return all_together(grads, dtype, [](const Value& grad) { return length_of(grad).scaled_down; });
}
Length length_among(const GradientsParams& grads, const Ranks& among, const Value& zero) {
  const Value own = grads.by_path.empty() ? zero : scaled_length(grads, zero.dtype());
  return {euclidean_length(all_gather(reshape(own, {1}), among), {0})};
}

/// Returns grad times `share`, where `length` is the norm of this gradient or of several. If the norm overflows its
/// type though no element does, it is computed with a scale; if an element is NaN or infinite, all become NaN.
Value scaled(const Value& grad, const Length& length, const Value& share, const Value& most) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Value fits = is_finite(length.value),
              first = where(fits, 1.0, full({}, Length::kFactor, grad.device(), share.dtype()));
  const Value rest = minimum(most / length.scaled_down, 1 / Length::kFactor);
  const Value second = where(fits, share, where(is_finite(length.scaled_down), rest, nan));
  return grad * cast(first, grad.dtype()) * cast(second, grad.dtype());
}

GradientsParams scaled(GradientsParams grads, const Length& length, double limit) {
  const Value share = minimum(limit / (length.value + kNotZero), 1.0);
  for (auto& [path, grad] : grads.by_path) grad = scaled(grad, length, share, limit);
  return grads;
}

void require_limit(std::string_view function, double limit) {
  require<ArgumentError>(limit > 0, function, ": a limit of ", limit, " is not positive");
}

/// The norm of each unit, which broadcasts to `x`.
Length unit_norms(const Value& x) {
  Dims inner;
  for (int i = x.rank() > 1 ? 1 : 0; i < x.rank(); ++i) inner.push_back(i);
  return length_of(x, inner, true);
}

}  // namespace

Tensor<0> global_norm(const GradientsParams& grads) {
  require<ArgumentError>(!grads.by_path.empty(), "global_norm: there are no gradients");
  const auto norm_of = [](const Value& grad) {
    return euclidean_length(cast(grad, wide(grad.dtype())), all_dims(grad));
  };
  return Typed{all_together(grads, common_type(grads), norm_of)};
}

GradientsParams clip_by_global_norm(GradientsParams grads, double limit) {
  require_limit("clip_by_global_norm", limit);
  if (grads.by_path.empty()) return grads;
  const Length length{scaled_length(grads, common_type(grads))};
  return scaled(std::move(grads), length, limit);
}

GradientsParams clip_by_global_norm(GradientsParams grads, double limit, const Ranks& among, const Value& zero) {
  require_limit("clip_by_global_norm", limit);
  const Length length = length_among(grads, among, zero);
  return scaled(std::move(grads), length, limit);
}

GradientsParams clip_by_norm(GradientsParams grads, double limit) {
  require_limit("clip_by_norm", limit);
  for (auto& [path, grad] : grads.by_path) {
    const Length length = length_of(grad);
    grad = scaled(grad, length, minimum(limit / (length.value + kNotZero), 1.0), limit);
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
    const Value most = maximum(unit_norms(param->second).value, least) * limit;
    const Length length = unit_norms(grad);
    grad = scaled(grad, length, minimum(most / maximum(length.value, kNotZero), 1.0), most);
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
