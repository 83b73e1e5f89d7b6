// The elements that interpolation at any position reads along each axis, and their weights. Positions are tensors, and
// the weights are differentiable by them.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/interpolation.hpp"

namespace kiln {

/// Elements along one axis: [taps, ...], so that computations on them have long rows. An index outside of the axis is
/// so far below 0 that no sum of the indices of several axes is a valid index.
struct AxisTaps {
  Value index;   // int64
  Value weight;  // of the positions' type
};

/// Returns `positions`, where positions so far outside of [0, size) that none of `reach` elements around is inside are
/// moved nearer, to positions that still read nothing, so that all are finite. NaN stays.
Value near_axis(const Value& positions, std::int64_t size, int reach);

/// The elements around `positions` [...] to which `mode` (Nearest, Linear or Cubic) gives weights, as integers in the
/// positions' type, which may be outside of an axis. `index` still has that type.
AxisTaps taps_around(const Value& positions, Interpolation mode);

/// The derivatives of these weights by the positions, [taps, ...].
Value weight_slopes(const Value& positions, Interpolation mode);

/// Converts integers in a float type to indices of an axis of `size` elements that are `stride` apart.
Value axis_index(const Value& places, std::int64_t size, std::int64_t stride);

/// Combines the taps of all axes, [taps, batch, points] each, into [batch, points, taps] of the whole image. `factor`
/// [batch, points] or none scales each point.
AxisTaps combined(std::span<const AxisTaps> axes, const Value& factor = {});

/// x [batch, channels, size] -> [batch, channels, points] by the taps of all axes.
Value blend(const Value& x, std::span<const AxisTaps> axes, const Value& factor = {});

}  // namespace kiln
