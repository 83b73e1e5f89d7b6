// Resize and Upsample: each axis by itself. What a place of the result reads are a few elements of the operand along
// the axis, each with a weight; both are known on the host.
#include <algorithm>
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kLongest = 1 << 24;  // the longest axis: its positions are listed on the host

struct Manner {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
};

struct AxisPlan {
  int axis = 0;
  std::int64_t in = 0, out = 0;
  double scale = 1, roi_start = 0, roi_end = 1;
};

double position(const AxisPlan& a, const std::string& how, std::int64_t i) {
  const auto x = static_cast<double>(i), in = static_cast<double>(a.in);
  const double length = a.scale * in;  // not rounded
  if (how == "align_corners") return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (how == "asymmetric") return x / a.scale;
  if (how == "pytorch_half_pixel" && a.out == 1) return 0;
  if (how == "tf_crop_and_resize") {
    const double start = a.roi_start * (in - 1), extent = (a.roi_end - a.roi_start) * (in - 1);
    return start + (a.out == 1 ? extent / 2 : x * extent / (length - 1));
  }
  const double centre = (x + 0.5) / a.scale - 0.5;
  if (how != "half_pixel_symmetric") return centre;
  return in / 2 * (1 - static_cast<double>(a.out) / length) + centre;
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The weights of elements base + first, base + first + 1, ... for a position base + ratio with 0 < ratio <= 1.
std::vector<double> weights_of(const Manner& manner, double ratio, double scale, std::int64_t& first) {
  const bool cubic = manner.mode == "cubic";
  const double shrink = manner.antialias ? std::min(scale, 1.0) : 1.0;
  const int reach = cubic ? 2 : 1;
  first = static_cast<std::int64_t>(std::floor(-reach / shrink)) + 1;
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t i = first; i < 2 - first; ++i) {
    const double x = (static_cast<double>(i) - ratio) * shrink;
    weights.push_back(cubic ? cubic_weight(x, manner.cubic) : std::max(0.0, 1 - std::abs(x)));
    sum += weights.back();
  }
  if (manner.antialias)
    for (double& weight : weights) weight /= sum;
  return weights;
}

// A whole number as an integer; what is far outside of any axis, or no number, is brought into reach.
std::int64_t whole(double x) { return x == x ? static_cast<std::int64_t>(std::clamp(x, -0x1p52, 0x1p52)) : 0; }

std::int64_t nearest_of(const std::string& how, double x) {
  if (how == "floor") return whole(std::floor(x));
  if (how == "ceil") return whole(std::ceil(x));
  return whole(how == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5));
}

Value resized_along(const Call& c, const Value& x, const AxisPlan& a, const Manner& manner) {
  const auto inside = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, a.in - 1); };
  if (manner.mode == "nearest") {
    Ints places;
    for (std::int64_t i = 0; i < a.out; ++i)
      places.push_back(inside(nearest_of(manner.nearest, position(a, manner.coordinates, i))));
    return select(x, a.axis, from_ints(places, c.device()));
  }
  // Tap k of each place: all taps have as many places.
  const double taps_of_place = 4 / (manner.antialias ? std::clamp(a.scale, 1e-9, 1.0) : 1.0) + 2;
  c.check_room(a.out, whole(taps_of_place) * 3 * static_cast<std::int64_t>(sizeof(double)));
  std::vector<Ints> places;
  std::vector<std::vector<double>> weights;
  for (std::int64_t i = 0; i < a.out; ++i) {
    const double at = position(a, manner.coordinates, i), base = std::ceil(at) - 1;
    std::int64_t first = 0;
    std::vector<double> taps = weights_of(manner, at - base, a.scale, first);
    double sum = 0;
    for (std::size_t k = 0; k < taps.size(); ++k) {
      const std::int64_t place = whole(base) + first + static_cast<std::int64_t>(k);
      if (manner.exclude_outside && place != inside(place)) taps[k] = 0;
      sum += taps[k];
      if (places.size() <= k) places.emplace_back(), weights.emplace_back();
      places[k].push_back(inside(place));
      weights[k].push_back(taps[k]);
    }
    for (std::size_t k = 0; k < taps.size() && manner.exclude_outside; ++k) weights[k].back() /= sum;
  }
  Value result;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Value weight = cast(from_data(TensorData::of<double>({a.out}, weights[k]), c.device()), x.dtype());
    const Value part = select(x, a.axis, from_ints(places[k], c.device())) * along(weight, a.axis, x.rank());
    result = k ? result + part : part;
  }
  return result.empty() ? select(x, a.axis, from_ints({}, c.device())) : result;
}

Value resized(const Call& c, const Value& x, const std::vector<AxisPlan>& plans, const Manner& manner,
              double outside_value) {
  const bool exact = manner.mode == "nearest" || x.dtype() == DType::F64;
  Value result = exact ? x : cast(x, DType::F32), outside;
  for (const AxisPlan& a : plans) {
    const bool crops = manner.coordinates == "tf_crop_and_resize";
    if (a.in == a.out && a.scale == 1 && !crops) continue;
    c.check(a.in > 0 || a.out == 0, "dimension ", a.axis, " of ", x.shape(), " has no elements");
    c.check_room(a.out, 2 * sizeof(double));
    result = resized_along(c, result, a, manner);
    if (!crops) continue;
    std::vector<std::uint8_t> beyond;
    for (std::int64_t i = 0; i < a.out; ++i) {
      const double at = position(a, manner.coordinates, i);
      beyond.push_back(at < 0 || at > static_cast<double>(a.in - 1));
    }
    const Value flags = from_data(TensorData::of<std::uint8_t>({a.out}, beyond), c.device());
    const Value mask = along(cast(flags, DType::Bool), a.axis, x.rank());
    outside = outside.empty() ? mask : logical_or(outside, mask);
  }
  if (!outside.empty()) result = where(outside, outside_value, result);
  if (!exact && is_integer(x.dtype())) result = round(result);
  return of_type(result, x.dtype());
}

std::vector<AxisPlan> plans_by_scales(const Call& c, const Value& x, const std::vector<float>& scales,
                                      const Ints& axes) {
  c.check(scales.size() == axes.size(), scales.size(), " scales for ", axes.size(), " axes");
  std::vector<AxisPlan> plans;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const int axis = c.dim(axes[i], x.rank());
    const auto scale = static_cast<double>(scales[i]);
    const double size = std::floor(static_cast<double>(static_cast<float>(x.dim(axis)) * scales[i]));
    c.check(scale > 0 && size <= static_cast<double>(kLongest), "a scale is ", scale);
    plans.push_back({axis, x.dim(axis), static_cast<std::int64_t>(size), scale});
  }
  return plans;
}

Results upsample(Call& c) {
  const Value& x = c[0];
  std::vector<float> scales;
  if (c.version() < 7)
    scales = {1, 1, static_cast<float>(c.f("height_scale", 1)), static_cast<float>(c.f("width_scale", 1))};
  else scales = c.version() < 9 ? c.floats("scales") : cast(c[1], DType::F32).data().to_vector<float>();
  const std::string mode = c.word("mode", "nearest", {"nearest", "linear", "bilinear", "trilinear", "cubic"});
  const bool is_linear = mode == "bilinear" || mode == "trilinear";
  const Manner manner{.mode = is_linear ? "linear" : mode, .coordinates = "asymmetric", .nearest = "floor"};
  Ints axes;
  for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  return c.like(0, resized(c, x, plans_by_scales(c, x, scales, axes), manner, 0));
}

Results resize(Call& c) {
  if (c.version() < 11) return upsample(c);
  const Value& x = c[0];
  const Manner manner{.mode = c.word("mode", "nearest", {"nearest", "linear", "cubic"}),
                      .coordinates = c.word("coordinate_transformation_mode", "half_pixel",
                                            {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                             "align_corners", "asymmetric", "tf_crop_and_resize"}),
                      .nearest = c.word("nearest_mode", "round_prefer_floor",
                                        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}),
                      .cubic = c.f("cubic_coeff_a", -0.75),
                      .exclude_outside = c.i("exclude_outside", 0) != 0,
                      .antialias = c.i("antialias", 0) != 0};
  Ints axes = c.ints("axes");
  if (axes.empty())
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  std::vector<AxisPlan> plans;
  const bool by_scales = c.has(2) && c[2].numel() > 0;
  if (by_scales) {
    plans = plans_by_scales(c, x, cast(c[2], DType::F32).data().to_vector<float>(), axes);
  } else {
    const Ints sizes = c.ints(3);
    c.check(sizes.size() == axes.size(), sizes.size(), " sizes for ", axes.size(), " axes");
    const std::string policy = c.word("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
    double common = policy == "not_larger" ? 1e30 : 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const int axis = c.dim(axes[i], x.rank());
      const double scale = static_cast<double>(sizes[i]) / static_cast<double>(x.dim(axis));
      c.check(sizes[i] >= 0 && sizes[i] <= kLongest && x.dim(axis) > 0, "a size is ", sizes[i], " for ", x.shape());
      common = policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
      plans.push_back({axis, x.dim(axis), sizes[i], scale});
    }
    for (AxisPlan& a : plans)
      if (policy != "stretch") {
        const double size = std::floor(common * static_cast<double>(a.in) + 0.5);
        c.check(size <= static_cast<double>(kLongest), "a size comes to ", size);
        a.out = static_cast<std::int64_t>(size);
        a.scale = common;
      }
  }
  if (manner.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = cast(c[1], DType::F64).data().to_vector<double>();
    c.check(roi.size() == 2 * plans.size(), "roi has ", roi.size(), " entries for ", plans.size(), " axes");
    for (std::size_t i = 0; i < plans.size(); ++i)
      plans[i].roi_start = roi[i], plans[i].roi_end = roi[i + plans.size()];
  }
  return c.like(0, resized(c, x, plans, manner, c.f("extrapolation_value", 0)));
}

constexpr OperatorRow kResampleRows[] = {
    {"Resize", 10, resize, {.folds = false}},
    {"Upsample", 1, upsample, {.folds = false, .until = 9}},
};

}  // namespace

std::span<const OperatorRow> resample_rows() { return kResampleRows; }

}  // namespace kiln::onnx
