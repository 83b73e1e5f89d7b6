// Keeping gradients small.
#pragma once
#include <optional>

#include "kiln/nn/gradients.hpp"

namespace kiln {

/// The Euclidean norm of all gradients as one vector, in float32, or in float64 where one of them is; infinite where it is
/// beyond that. Throws ArgumentError for none at all.
Tensor<0> global_norm(const GradientsParams& grads);

/// The gradients scaled down together so that their global norm is at most `limit`; smaller ones stay as they are.
/// Nothing waits for the device. Where an element is infinite or NaN, all become NaN; finite ones are scaled even if their
/// norm is beyond the type. Throws ArgumentError for a limit that is not positive.
GradientsParams clip_by_global_norm(GradientsParams grads, double limit);

/// Each gradient scaled down by itself, so that its own norm is at most `limit`; infinities and NaN as above.
GradientsParams clip_by_norm(GradientsParams grads, double limit);

/// Each element brought into [-limit, limit]; NaN stays.
GradientsParams clip_by_value(GradientsParams grads, double limit);

/// Adaptive clipping (Brock, De, Smith, Simonyan, "High-performance large-scale image recognition without
/// normalization", 2021): of each unit, a row of a weight [out, ...], the gradient's norm is at most `limit` times the
/// parameter's, which counts as `least` where it is smaller. Parameters of one dimension or none are a unit as a whole.
/// `params` has the parameter of each gradient by the same path. An infinity or NaN makes its unit NaN.
GradientsParams clip_adaptively(GradientsParams grads, const std::map<std::string, Value>& params, double limit,
                                double least = 1e-3);

/// Clipping as an option of an optimizer; what is set is done, in this order.
struct ClipOptions {
  std::optional<double> value{}, norm{}, adaptive{}, global_norm{};

  /// Throws ArgumentError for limits that are not positive.
  void check() const;
  GradientsParams clipped(GradientsParams grads, const std::map<std::string, Value>& params) const;
};

}  // namespace kiln
