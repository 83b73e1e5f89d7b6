// What interpolation at any position reads: the elements around it along each axis, and how much each counts. The
// positions are tensors, and the weights have gradients in them.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/interpolation.hpp"

namespace kiln {

/// Elements along one axis: [taps, ...], so that what is computed of them has long rows. An index that names no element
/// is so far below 0 that no sum of the indices of several axes names one.
struct AxisTaps {
  Value index;   // int64
  Value weight;  // of the positions' type
};

/// `positions` without those so far outside of [0, size) that none of `reach` elements around lies inside: they move to
/// where that is still so, and are finite. NaN stays.
Value near_axis(const Value& positions, std::int64_t size, int reach);

/// The elements around `positions` [...] that `mode` (Nearest, Linear or Cubic) weighs, as whole numbers of the
/// positions' type, which may lie outside of an axis; index still holds these.
AxisTaps taps_around(const Value& positions, Interpolation mode);

/// How fast the weights of these grow with the positions, [taps, ...].
Value weight_slopes(const Value& positions, Interpolation mode);

/// Whole numbers of a float type as indices of an axis of `size` elements that lie `stride` apart.
Value axis_index(const Value& places, std::int64_t size, std::int64_t stride);

/// The taps of all axes, [taps, batch, points] each, as [batch, points, taps] of the whole. `factor` [batch, points] or
/// none scales each point.
AxisTaps combined(std::span<const AxisTaps> axes, const Value& factor = {});

/// x [batch, channels, size] -> [batch, channels, points] by the taps of all axes.
Value blend(const Value& x, std::span<const AxisTaps> axes, const Value& factor = {});

}  // namespace kiln
