// Boxes: which are kept, and the parts of pictures that they cut out.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/vision/boxes.hpp"
#include "kiln/vision/nms.hpp"
#include "kiln/vision/roi.hpp"

namespace kiln::onnx {
namespace {

// (y, x, y, x) of any two opposite corners -> (x1, y1, x2, y2)
Value from_opposite_corners(const Value& boxes) {
  const auto number = [&](int i) { return at(boxes, -1, i); };
  return stack(Values{minimum(number(1), number(3)), minimum(number(0), number(2)), maximum(number(1), number(3)),
                      maximum(number(0), number(2))},
               -1);
}

// boxes [batch, n, 4], scores [batch, classes, n] -> [kept, 3] of (image, class, box). Overlaps are computed in float64.
Results non_max_suppression(Call& c) {
  const Value &boxes = c[0], &scores = c[1];
  c.check(boxes.rank() == 3 && boxes.dim(2) == 4 && scores.rank() == 3 && scores.dim(0) == boxes.dim(0) &&
              scores.dim(2) == boxes.dim(1),
          "boxes ", boxes.shape(), " and scores ", scores.shape());
  vision::NmsOptions options{.overlap = c.has(3) ? c.number(3) : 0};
  c.check(options.overlap >= 0 && options.overlap <= 1, "iou_threshold ", options.overlap, " is not from 0 to 1");
  options.most_of_group = std::max<std::int64_t>(c.has(2) ? c.integer(2) : 0, 0);
  if (c.has(4)) options.least_score = c.number(4);
  const std::int64_t batch = scores.dim(0), classes = scores.dim(1), n = scores.dim(2), all = scores.numel();
  const Value exact = cast(boxes, DType::F64);
  const Value corners = c.i("center_point_box", 0) != 0
                            ? vision::convert_boxes(exact, vision::BoxFormat::CentreSize, vision::BoxFormat::Corners)
                            : from_opposite_corners(exact);
  const Value of_classes = reshape(expand(unsqueeze(corners, 1), {batch, classes, n, 4}), {all, 4});
  const Value place = arange(0, all, 1, c.device()), group = floor_divide(place, std::max<std::int64_t>(n, 1));
  const Value kept = vision::nms(of_classes, reshape(scores, {all}), group, options);
  const Value by_class = select(kept, 0, argsort(select(group, 0, kept), 0));
  const Value kind = select(group, 0, by_class);
  return stack(
      Values{floor_divide(kind, std::max<std::int64_t>(classes, 1)),
             remainder(kind, std::max<std::int64_t>(classes, 1)), remainder(by_class, std::max<std::int64_t>(n, 1))},
      -1);
}

// boxes [count, 5] of (image, x1, y1, x2, y2)
Results max_roi_pool(Call& c) {
  const Value &x = c[0], &boxes = c[1];
  const Ints size = c.ints("pooled_shape");
  const double scale = c.f("spatial_scale", 1);
  c.check(size.size() == 2 && x.rank() == 4 && boxes.rank() == 2 && boxes.dim(1) == 5 && size[0] > 0 && size[1] > 0 &&
              size[0] <= 1 << 12 && size[1] <= 1 << 12,
          "x ", x.shape(), ", boxes ", boxes.shape());
  const TensorData numbers = cast(boxes, DType::F64).data();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    const double number = numbers.at(i);
    c.check(std::isfinite(number) && std::isfinite(scale), "box ", i / 5, " has an edge that is no number");
    c.check(i % 5 != 0 || (number >= 0 && number < static_cast<double>(x.dim(0))), "box ", i / 5, " is of image ",
            number, " of ", x.dim(0));
  }
  if (x.dim(2) == 0 || x.dim(3) == 0) return zeros({boxes.dim(0), x.dim(1), size[0], size[1]}, c.device(), x.dtype());
  // The standard's maxima pass over NaN.
  const Value without_nan = where(is_nan(x), -std::numeric_limits<double>::infinity(), x);
  return vision::roi_pool(without_nan, from_data(numbers, c.device()),
                          {.size = {size[0], size[1]}, .spatial_scale = scale});
}

constexpr OperatorRow kDetectionRows[] = {
    {"MaxRoiPool", 1, max_roi_pool},
    {"NonMaxSuppression", 10, non_max_suppression},
};

}  // namespace

std::span<const OperatorRow> detection_rows() { return kDetectionRows; }

}  // namespace kiln::onnx
