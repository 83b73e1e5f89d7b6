// Non-maximum suppression keeps the box with the best score among those that overlap. Boxes are [count, 4] of (x1, y1,
// x2, y2). A box that is upside down, has no area or is NaN overlaps nothing: it suppresses no other box and is kept. A
// box whose score is NaN is never selected.
#pragma once
#include <limits>
#include <optional>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

struct NmsOptions {
  double overlap = 0.5;  // a box is removed if its intersection over union with a better one is larger
  double least_score = -std::numeric_limits<double>::infinity();  // a box is removed unless its score is larger
  std::optional<std::int64_t> most{};                             // the largest number of boxes to keep
  std::optional<std::int64_t> most_of_group{};                    // the largest number to keep of each group
};
/// Returns the indices of the kept boxes for boxes [count, 4] and scores [count]: int64 [kept]. The best box comes
/// first; among equal scores, the earlier one does. With groups [count], integers that name each box's class or
/// picture, boxes suppress only boxes of their own group. Waits for the device.
Value nms(const Value& boxes, const Value& scores, const NmsOptions& options = {});
Value nms(const Value& boxes, const Value& scores, const Value& groups, const NmsOptions& options = {});

struct SoftNms {
  enum class Decay : std::uint8_t {
    Linear,    // multiplies a score by 1 - overlap, where the overlap is larger than `overlap`
    Gaussian,  // multiplies a score by exp(-overlap^2 / sigma)
  };
  Decay decay = Decay::Gaussian;
  double overlap = 0.3, sigma = 0.5;
  double least_score = 0.001;  // a box is removed when its score has fallen to this
  std::int64_t most = 1000;    // the largest number of boxes to select
};
struct Scored {
  Value indices;  // int64 [kept]
  Value scores;   // [kept]: the reduced scores
};
/// Reduces the scores of boxes that overlap a better one, instead of removing them (Bodla et al., "Soft-NMS: improving
/// object detection with one line of code", 2017). Each step selects the best remaining box. Waits for the device.
Scored soft_nms(const Value& boxes, const Value& scores, const SoftNms& options = {});

/// The composition of nms for devices without a kernel. Returns which of boxes [count, 4], sorted by their scores, are
/// kept, with groups [count] or none. Each block of boxes is compared with all that follow.
Value kept_by_ops(const Value& boxes, const Value& groups, double overlap);
/// The composition of soft_nms for such devices: returns [most] indices, -1 after the last selected box, and [most]
/// scores.
Scored soft_kept_by_ops(const Value& boxes, const Value& scores, const SoftNms& options);

inline Tensor<1, Int> nms(const Tensor<2>& boxes, const Tensor<1>& scores, const NmsOptions& options = {}) {
  return Typed{nms(boxes.value(), scores.value(), options)};
}
inline Tensor<1, Int> nms(const Tensor<2>& boxes, const Tensor<1>& scores, const Tensor<1, Int>& groups,
                          const NmsOptions& options = {}) {
  return Typed{nms(boxes.value(), scores.value(), groups.value(), options)};
}
struct ScoredTensors {
  Tensor<1, Int> indices;
  Tensor<1> scores;
};
inline ScoredTensors soft_nms(const Tensor<2>& boxes, const Tensor<1>& scores, const SoftNms& options = {}) {
  const Scored result = soft_nms(boxes.value(), scores.value(), options);
  return {Typed{result.indices}, Typed{result.scores}};
}

}  // namespace kiln::vision
