#include "kiln/optim/clip.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/linalg/length.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln {
namespace {

constexpr double kNotZero = 1e-6;  // PyTorch's value; avoids 0 / 0

DType wide(DType dtype) { return promote(dtype, DType::F32); }

SquareSums sums_of(const Value& grad, DType dtype) { return square_sums(cast(grad, dtype), all_dims(grad)); }

Length length_of(const GradientsParams& grads) {
  DType dtype = DType::F32;
  for (const auto& [path, grad] : grads.by_path) dtype = promote(dtype, grad.dtype());
  std::optional<SquareSums> total;
  for (const auto& [path, grad] : grads.by_path) {
    const SquareSums own = sums_of(grad, dtype);
    total = total ? *total + own : own;
  }
  return kiln::length_of(*total);
}

Length length_among(const GradientsParams& grads, const Ranks& among, const Value& zero) {
  SquareSums own{zero, zero, zero};
  for (const auto& [path, grad] : grads.by_path) own = own + sums_of(grad, zero.dtype());
  const Value all = all_reduce(ravel(Values{own.plain, own.scaled_down, own.scaled_up}, zero.dtype()), among);
  return kiln::length_of(SquareSums{at(all, 0, 0), at(all, 0, 1), at(all, 0, 2)});
}

/// Returns grad times `share`, where `length` is the norm of this gradient or of several. If the norm overflows its
/// type though no element does, it is computed with a scale; if an element is NaN or infinite, all become NaN.
Value scaled(const Value& grad, const Length& length, const Value& share, const Value& most) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Value fits = is_finite(length.value),
              first = where(fits, 1.0, full({}, length.factor, grad.device(), share.dtype()));
  const Value rest = minimum(most / length.scaled_down, 1 / length.factor);
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
  return kiln::length_of(square_sums(cast(x, wide(x.dtype())), inner, true));
}

}  // namespace

Tensor<0> global_norm(const GradientsParams& grads) {
  require<ArgumentError>(!grads.by_path.empty(), "global_norm: there are no gradients");
  return Typed{length_of(grads).value};
}

GradientsParams clip_by_global_norm(GradientsParams grads, double limit) {
  require_limit("clip_by_global_norm", limit);
  if (grads.by_path.empty()) return grads;
  const Length length = length_of(grads);
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
    const Length length = kiln::length_of(sums_of(grad, wide(grad.dtype())));
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
