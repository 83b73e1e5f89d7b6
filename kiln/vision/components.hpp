// Connected components of masks, and measurements of them.
#pragma once
#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// The neighbours of a pixel: those that share an edge with it (Four), or an edge or a corner (Eight).
enum class Connectivity : std::uint8_t { Four, Eight };

struct Components {
  Value labels;  // int64 [batch, 1, height, width]: 0 where the mask is not set, 1, 2, ... in the order of first pixels
  Value counts;  // int64 [batch]
};
/// Labels the components of mask [batch, 1, height, width], which is set where it is not 0 (Rosenfeld and Pfaltz,
/// "Sequential operations in digital picture processing", 1966). On a device without a kernel for it, the call waits
/// for the device until no label changes any more.
Components connected_components(const Value& mask, Connectivity connectivity = Connectivity::Eight);

/// The composition of connected_components for devices without a kernel: each pixel takes the least index around it,
/// and trees of indices are hooked together and flattened (Zhang, Azad and Hu, "FastSV: a distributed-memory connected
/// component algorithm with fast convergence", 2020). Returns int64 labels.
Value labels_by_ops(const Value& mask, Connectivity connectivity);

struct ComponentStatistics {
  Value areas;      // int64 [batch, count + 1]: the number of pixels of each label, 0 included
  Value boxes;      // int64 [batch, count + 1, 4]: x1, y1, x2, y2; zeros for a label without pixels
  Value centroids;  // float64 [batch, count + 1, 2]: x, y of the centroid; NaN for a label without pixels
};
/// Measures components by labels [batch, 1, height, width], integers from 0 to `count`. Throws IndexError for other
/// labels.
ComponentStatistics component_statistics(const Value& labels, std::int64_t count);

struct ComponentTensors {
  Tensor<4, Int> labels;
  Tensor<1, Int> counts;
};
template <class K>
ComponentTensors connected_components(const Tensor<4, K>& mask, Connectivity connectivity = Connectivity::Eight) {
  const Components result = connected_components(mask.value(), connectivity);
  return {Typed{result.labels}, Typed{result.counts}};
}
struct ComponentStatisticsTensors {
  Tensor<2, Int> areas;
  Tensor<3, Int> boxes;
  Tensor<3> centroids;
};
inline ComponentStatisticsTensors component_statistics(const Tensor<4, Int>& labels, std::int64_t count) {
  const ComponentStatistics result = component_statistics(labels.value(), count);
  return {Typed{result.areas}, Typed{result.boxes}, Typed{result.centroids}};
}

}  // namespace kiln::vision
