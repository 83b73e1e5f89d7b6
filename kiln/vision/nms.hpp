// Non-maximum suppression: of boxes that overlap the one with the best score. Boxes are [count, 4] of (x1, y1, x2, y2). One
// that is upside down, has no area or is NaN overlaps nothing: it suppresses none and stays. A score that is NaN is
// never chosen.
#pragma once
#include <limits>
#include <optional>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

struct NmsOptions {
  double overlap = 0.5;  // boxes go whose intersection by union with a better one is larger
  double least_score = -std::numeric_limits<double>::infinity();  // boxes go whose score is not larger
  std::optional<std::int64_t> most{};                             // how many stay at most
  std::optional<std::int64_t> most_of_group{};                    // how many of each group stay at most
};
/// boxes [count, 4], scores [count] -> int64 [kept]: indices of those that stay, the best first, and of equal scores the
/// earlier first. With groups [count], integers that name a box's class or picture, boxes suppress those of their own group
/// alone. Waits for the device.
Value nms(const Value& boxes, const Value& scores, const NmsOptions& options = {});
Value nms(const Value& boxes, const Value& scores, const Value& groups, const NmsOptions& options = {});

struct SoftNms {
  enum class Decay : std::uint8_t {
    Linear,    // a score times 1 - overlap, where that is larger than `overlap`
    Gaussian,  // a score times exp(-overlap^2 / sigma)
  };
  Decay decay = Decay::Gaussian;
  double overlap = 0.3, sigma = 0.5;
  double least_score = 0.001;  // boxes go whose score has fallen to that
  std::int64_t most = 1000;    // how many are chosen at most
};
struct Scored {
  Value indices;  // int64 [kept]
  Value scores;   // [kept]: what the scores have fallen to
};
/// Scores of boxes that overlap a better one fall, rather than that the boxes go (Bodla et al., "Soft-NMS: improving object
/// detection with one line of code", 2017). Each time the best box is chosen that is left. Waits for the device.
Scored soft_nms(const Value& boxes, const Value& scores, const SoftNms& options = {});

/// What nms is made of where there is no kernel: which of boxes [count, 4] in the order of their scores, with groups [count] or
/// none, stay. Blocks of boxes are compared with all that follow.
Value kept_by_ops(const Value& boxes, const Value& groups, double overlap);
/// What soft_nms is made of there: [most] indices, -1 where no more are chosen, and [most] scores.
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
