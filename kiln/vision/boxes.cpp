#include "kiln/vision/boxes.hpp"

#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"

namespace kiln::vision {
namespace {

void require_boxes(std::string_view name, const Value& boxes) {
  op::require_float(name, boxes);
  require<ShapeError>(boxes.rank() >= 1 && boxes.dim(-1) == 4, name, ": boxes are [..., 4], got ", boxes.shape());
}

/// The four coordinates of each box.
struct Four {
  Value a, b, c, d;
  explicit Four(const Value& boxes)
      : a(at(boxes, -1, 0)), b(at(boxes, -1, 1)), c(at(boxes, -1, 2)), d(at(boxes, -1, 3)) {}
  Four(Value a, Value b, Value c, Value d) : a(std::move(a)), b(std::move(b)), c(std::move(c)), d(std::move(d)) {}
  Value joined() const { return stack(Values{a, b, c, d}, -1); }
};

Four corners_of(const Four& x, BoxFormat from) {
  switch (from) {
    case BoxFormat::Corners: break;
    case BoxFormat::CornerSize: return {x.a, x.b, x.a + x.c, x.b + x.d};
    case BoxFormat::CentreSize: return {x.a - x.c * 0.5, x.b - x.d * 0.5, x.a + x.c * 0.5, x.b + x.d * 0.5};
  }
  return x;
}

Four from_corners(const Four& x, BoxFormat to) {
  switch (to) {
    case BoxFormat::Corners: break;
    case BoxFormat::CornerSize: return {x.a, x.b, x.c - x.a, x.d - x.b};
    case BoxFormat::CentreSize: return {(x.a + x.c) * 0.5, (x.b + x.d) * 0.5, x.c - x.a, x.d - x.b};
  }
  return x;
}

}  // namespace

Value convert_boxes(const Value& boxes, BoxFormat from, BoxFormat to) {
  require_boxes("convert_boxes", boxes);
  for (const BoxFormat format : {from, to})
    require_enumerator("convert_boxes", "format of boxes", static_cast<int>(format),
                       static_cast<int>(BoxFormat::CentreSize));
  return from == to ? boxes : from_corners(corners_of(Four(boxes), from), to).joined();
}

Value box_area(const Value& boxes) {
  require_boxes("box_area", boxes);
  const Four x(boxes);
  return relu(x.c - x.a) * relu(x.d - x.b);
}

Value clip_boxes(const Value& boxes, std::int64_t height, std::int64_t width) {
  require_boxes("clip_boxes", boxes);
  require<ArgumentError>(height >= 0 && width >= 0, "clip_boxes: a picture of ", height, " x ", width, " pixels");
  const Four x(boxes);
  return Four(clamp(x.a, 0, width), clamp(x.b, 0, height), clamp(x.c, 0, width), clamp(x.d, 0, height)).joined();
}

Value are_boxes_large(const Value& boxes, double least_side) {
  require_boxes("are_boxes_large", boxes);
  const Four x(boxes);
  return logical_and(ge(x.c - x.a, least_side), ge(x.d - x.b, least_side));
}

Value boxes_of_masks(const Value& masks) {
  constexpr std::string_view name = "boxes_of_masks";
  op::require_tensor(name, masks);
  require<ShapeError>(masks.rank() == 3, name, ": masks are [count, height, width], got ", masks.shape());
  if (masks.numel() == 0) return zeros({masks.dim(0), 4}, masks.device());
  const Value set = masks.dtype() == DType::Bool ? masks : ne(masks.detach(), 0);
  // Returns the index of the first true element of each row of booleans [count, size], and the index after the last
  // one.
  const auto ends = [&](const Value& any_along) {
    const std::int64_t size = any_along.dim(1);
    const Value places = arange(0, size, 1, masks.device());
    return std::pair(min(where(any_along, places, size), {1}), max(where(any_along, places + 1, 0), {1}));
  };
  const auto [left, right] = ends(any(set, {1}));
  const auto [top, bottom] = ends(any(set, {2}));
  const Value boxes = cast(Four(left, top, right, bottom).joined(), DType::F32);
  return where(unsqueeze(gt(right, 0), -1), boxes, 0.0);
}

Value anchors(const Anchors& options, std::int64_t rows, std::int64_t columns, double stride_down, double stride_across,
              const Device& device) {
  constexpr std::string_view name = "anchors";
  const auto is_length = [](double x) { return x > 0 && std::isfinite(x); };
  require<ArgumentError>(rows >= 0 && columns >= 0 && is_length(stride_down) && is_length(stride_across), name, ": ",
                         rows, " x ", columns, " cells of ", stride_down, " x ", stride_across,
                         " pixels; there must be none or more, and sides must be positive");
  std::vector<float> shapes;
  for (const double proportion : options.proportions)
    for (const double size : options.sizes) {
      require<ArgumentError>(is_length(size) && is_length(proportion), name, ": the size ", size,
                             " and the proportion ", proportion, " must be positive");
      const double height = size * std::sqrt(proportion), width = size / std::sqrt(proportion);
      for (const double x : {-width / 2, -height / 2, width / 2, height / 2}) shapes.push_back(static_cast<float>(x));
    }
  const auto count = std::ssize(shapes) / 4;
  const Value base = from_data(TensorData::of<float>({1, 1, count, 4}, shapes), device);
  const auto middles = [&](std::int64_t cells, double stride) {
    return (arange(0, cells, 1, device, DType::F32) + 0.5) * stride;
  };
  const Shape grid{rows, columns, 1};
  const Value x = expand(reshape(middles(columns, stride_across), {1, columns, 1}), grid);
  const Value y = expand(reshape(middles(rows, stride_down), {rows, 1, 1}), grid);
  const std::int64_t all = multiply_sizes(name, multiply_sizes(name, rows, columns), count);
  return reshape(base + Four(x, y, x, y).joined(), {all, 4});
}

namespace {

void require_coding(std::string_view name, const Value& boxes, const Value& anchors, const BoxCoding& coding) {
  require_boxes(name, boxes);
  require_boxes(name, anchors);
  const auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
  require<ArgumentError>(is_positive(coding.x) && is_positive(coding.y) && is_positive(coding.width) &&
                             is_positive(coding.height) && is_positive(coding.most_growth),
                         name, ": weights and most_growth must be positive and finite");
}

}  // namespace

Value encode_boxes(const Value& boxes, const Value& anchors, const BoxCoding& coding) {
  const CalledAs named("encode_boxes");
  require_coding("encode_boxes", boxes, anchors, coding);
  const Four box = from_corners(Four(boxes), BoxFormat::CentreSize);
  const Four anchor = from_corners(Four(anchors), BoxFormat::CentreSize);
  return Four((box.a - anchor.a) / anchor.c * coding.x, (box.b - anchor.b) / anchor.d * coding.y,
              log(box.c / anchor.c) * coding.width, log(box.d / anchor.d) * coding.height)
      .joined();
}

Value decode_boxes(const Value& codes, const Value& anchors, const BoxCoding& coding) {
  const CalledAs named("decode_boxes");
  require_coding("decode_boxes", codes, anchors, coding);
  const Four code(codes), anchor = from_corners(Four(anchors), BoxFormat::CentreSize);
  const double most = std::log(coding.most_growth);
  const Four box(code.a * (1 / coding.x) * anchor.c + anchor.a, code.b * (1 / coding.y) * anchor.d + anchor.b,
                 exp(minimum(code.c * (1 / coding.width), most)) * anchor.c,
                 exp(minimum(code.d * (1 / coding.height), most)) * anchor.d);
  return corners_of(box, BoxFormat::CentreSize).joined();
}

}  // namespace kiln::vision
