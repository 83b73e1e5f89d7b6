#include "kiln/ops/loss/boxes.hpp"

#include <numbers>

#include "kiln/ops/check.hpp"
#include "kiln/ops/composite.hpp"

namespace kiln {
namespace {

/// x / y, with 0 / 0 = 0: boxes may be points.
Value share(const Value& x, const Value& y) { return x / maximum(y, 1e-12); }

struct Box {
  Value x1, y1, x2, y2;

  Value width() const { return relu(x2 - x1); }
  Value height() const { return relu(y2 - y1); }
  Value area() const { return width() * height(); }
};

/// [..., 4] -> four of [...]
Box box_of(const Value& x) { return {at(x, -1, 0), at(x, -1, 1), at(x, -1, 2), at(x, -1, 3)}; }

/// (4 / pi^2) (the difference of the diagonals' angles)^2
Value skew(const Box& a, const Box& b) {
  const auto angle = [](const Box& box) { return atan2(box.width(), maximum(box.height(), 1e-12)); };
  return square(angle(b) - angle(a)) * (4 / (std::numbers::pi * std::numbers::pi));
}

/// The overlap of boxes whose coordinates broadcast.
Value overlap_of(const Box& a, const Box& b, BoxOverlap kind) {
  const Box shared{maximum(a.x1, b.x1), maximum(a.y1, b.y1), minimum(a.x2, b.x2), minimum(a.y2, b.y2)};
  const Value both = shared.area(), either = a.area() + b.area() - both;
  const Value iou = share(both, either);
  if (kind == BoxOverlap::Iou) return iou;
  const Box around{minimum(a.x1, b.x1), minimum(a.y1, b.y1), maximum(a.x2, b.x2), maximum(a.y2, b.y2)};
  if (kind == BoxOverlap::Giou) return iou - share(around.area() - either, around.area());
  const Value apart = square(a.x1 + a.x2 - b.x1 - b.x2) + square(a.y1 + a.y2 - b.y1 - b.y2);
  const Value diagonal = square(around.x2 - around.x1) + square(around.y2 - around.y1);
  const Value diou = iou - share(apart, diagonal * 4);
  if (kind == BoxOverlap::Diou) return diou;
  const Value skewed = skew(a, b);
  return diou - share(skewed, 1 - iou + skewed).detach() * skewed;
}

DType type_of(std::string_view name, const Value& a, const Value& b) {
  op::require_float(name, a);
  op::require_float(name, b);
  return promote(a.dtype(), b.dtype());
}

/// The overlap in `dtype`; for a half it is computed in float32, as areas of some hundred pixels squared exceed
/// float16.
Value overlap(const Value& a, const Value& b, BoxOverlap kind, DType dtype) {
  const auto wide = [&](const Value& x) { return box_of(cast(x, op::wide(dtype))); };
  return cast(overlap_of(wide(a), wide(b), kind), dtype);
}

}  // namespace

Value box_iou(const Value& a, const Value& b, BoxOverlap kind) {
  const DType dtype = type_of("box_iou", a, b);
  for (const Value& x : {a, b})
    require<ShapeError>(x.rank() == 2 && x.dim(1) == 4, "box_iou: boxes must be [n, 4], got ", x.shape());
  return overlap(unsqueeze(a, 1), unsqueeze(b, 0), kind, dtype);
}

Value box_iou_loss(const Value& x, const Value& target, BoxOverlap kind, Reduction reduction) {
  const DType dtype = type_of("box_iou_loss", x, target);
  require<ShapeError>(x.shape() == target.shape(), "box_iou_loss: ", x.shape(), " and ", target.shape(), " differ");
  require<ShapeError>(x.rank() >= 1 && x.dim(-1) == 4, "box_iou_loss: boxes must be [..., 4], got ", x.shape());
  return reduced(1 - overlap(x, target, kind, dtype), reduction);
}

}  // namespace kiln
