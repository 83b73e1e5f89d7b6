// Choosing boxes.
#include <algorithm>
#include <limits>
#include <numeric>

#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

struct Box {
  double x1, y1, x2, y2;
  double area() const { return (x2 - x1) * (y2 - y1); }
};

double overlap(const Box& a, const Box& b) {
  const double w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double shared = w > 0 && h > 0 ? w * h : 0, all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0;
}

// Boxes are visited by falling score. A box stays unless it overlaps one that stayed. boxes [batch, n, 4], scores [batch, classes, n].
Results non_max_suppression(Call& c) {
  const TensorData boxes = c[0].data(), scores = c[1].data();
  c.check(boxes.shape().size() == 3 && boxes.shape()[2] == 4 && scores.shape().size() == 3 &&
              scores.shape()[0] == boxes.shape()[0] && scores.shape()[2] == boxes.shape()[1],
          "boxes ", boxes.shape(), " and scores ", scores.shape());
  const std::int64_t most = c.has(2) ? c.integer(2) : 0, n = boxes.shape()[1], classes = scores.shape()[1];
  const double iou = c.has(3) ? c.number(3) : 0;
  const double least = c.has(4) ? c.number(4) : -std::numeric_limits<double>::infinity();
  const bool centred = c.i("center_point_box", 0) != 0;
  Ints chosen;
  for (std::int64_t batch = 0; batch < boxes.shape()[0]; ++batch) {
    std::vector<Box> list;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto of = [&](int k) { return boxes.at((batch * n + i) * 4 + k); };
      if (centred) list.push_back({of(0) - of(2) / 2, of(1) - of(3) / 2, of(0) + of(2) / 2, of(1) + of(3) / 2});
      else
        list.push_back(
            {std::min(of(1), of(3)), std::min(of(0), of(2)), std::max(of(1), of(3)), std::max(of(0), of(2))});
    }
    for (std::int64_t kind = 0; kind < classes; ++kind) {
      const auto score = [&](std::int64_t i) { return scores.at((batch * classes + kind) * n + i); };
      Ints order;
      for (std::int64_t i = 0; i < n; ++i)
        if (score(i) > least) order.push_back(i);
      std::sort(order.begin(), order.end(),
                [&](std::int64_t a, std::int64_t b) { return score(a) > score(b) || (score(a) == score(b) && a < b); });
      Ints kept;
      for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(kept.size()) >= most) break;
        const auto at = [&](std::int64_t k) { return list[static_cast<std::size_t>(k)]; };
        if (std::any_of(kept.begin(), kept.end(), [&](std::int64_t k) { return overlap(at(i), at(k)) > iou; }))
          continue;
        kept.push_back(i);
        for (const std::int64_t number : {batch, kind, i}) chosen.push_back(number);
      }
    }
  }
  const auto count = static_cast<std::int64_t>(chosen.size()) / 3;
  return from_data(TensorData::of<std::int64_t>({count, 3}, chosen), c.device());
}

constexpr OperatorRow kDetectionRows[] = {
    {"NonMaxSuppression", 10, non_max_suppression},
};

}  // namespace

std::span<const OperatorRow> detection_rows() { return kDetectionRows; }

}  // namespace kiln::onnx
