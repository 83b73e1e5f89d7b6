// Gradient clipping.
#pragma once
#include <optional>

#include "kiln/nn/gradients.hpp"
#include "kiln/ops/collective/communicator.hpp"

namespace kiln {

/// The Euclidean norm of all gradients as one vector, in float32, or in float64 if one of them is; infinite if it
/// overflows. Throws ArgumentError if there are no gradients.
Tensor<0> global_norm(const GradientsParams& grads);

/// Scales all gradients down together so that their global norm is at most `limit`; smaller ones are unchanged. Does
/// not wait for the device. If an element is infinite or NaN, all become NaN; finite ones are scaled even if their norm
/// overflows. Throws ArgumentError for a limit that is not positive.
GradientsParams clip_by_global_norm(GradientsParams grads, double limit);

/// clip_by_global_norm() if each of several ranks has some of the gradients, or none: the norm is that of all. All ranks
/// call it. `zero` is a number on the device on which they meet, of the type in which the norm is computed.
GradientsParams clip_by_global_norm(GradientsParams grads, double limit, const Ranks& among, const Value& zero);

/// Scales each gradient down by itself, so that its own norm is at most `limit`; infinities and NaN as in
/// clip_by_global_norm().
GradientsParams clip_by_norm(GradientsParams grads, double limit);

/// Clamps each element to [-limit, limit]; NaN stays NaN.
GradientsParams clip_by_value(GradientsParams grads, double limit);

/// Adaptive clipping (Brock, De, Smith, Simonyan, "High-performance large-scale image recognition without
/// normalization", 2021): for each unit, a row of a weight [out, ...], the gradient's norm is limited to `limit` times
/// the parameter's norm, which is taken as at least `least`. Parameters of one dimension or none are a single unit.
/// `params` has the parameter of each gradient by the same path. An infinity or NaN makes its unit NaN.
GradientsParams clip_adaptively(GradientsParams grads, const std::map<std::string, Value>& params, double limit,
                                double least = 1e-3);

/// Clipping as an option of an optimizer; what is set is applied, in this order.
struct ClipOptions {
  std::optional<double> value{}, norm{}, adaptive{}, global_norm{};

  /// Throws ArgumentError for limits that are not positive.
  void check() const;
  GradientsParams clipped(GradientsParams grads, const std::map<std::string, Value>& params) const;
};

}  // namespace kiln
