#include "kiln/vision/histogram.hpp"

#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/scan.hpp"

namespace kiln::vision {
namespace {

void require_bins(std::string_view name, const Bins& bins) {
  require<ArgumentError>(bins.count >= 1 && bins.count <= 1 << 24, name, ": ", bins.count,
                         " bins; there are 1 to 2^24");
  require<ArgumentError>(std::isfinite(bins.low) && std::isfinite(bins.high) && bins.low < bins.high, name,
                         ": bins from ", bins.low, " to ", bins.high, " must be in order and finite");
}

}  // namespace

Value histogram(const Value& x, const Bins& bins) {
  constexpr std::string_view name = "histogram";
  const CalledAs named("histogram");
  require_pictures(name, x);
  require_bins(name, bins);
  const std::int64_t lines = x.dim(0) * x.dim(1);
  const Device device = x.device();
  if (x.numel() == 0) return zeros({x.dim(0), x.dim(1), bins.count}, device, DType::I64);
  const Value wide = cast(reshape(x.detach(), {lines, x.dim(2) * x.dim(3)}), working_type(x.dtype()));
  const Value place = floor((wide - bins.low) * (static_cast<double>(bins.count) / (bins.high - bins.low)));
  // Values outside are counted in an additional bin at the end, which is cut off.
  const Value inside = logical_and(ge(wide, bins.low), lt(wide, bins.high));
  const Value bin = cast(
      where(inside, minimum(place, static_cast<double>(bins.count - 1)), static_cast<double>(bins.count)), DType::I64);
  const Value counts = scatter(zeros({lines, bins.count + 1}, device, DType::I64), 1, bin,
                               ones(bin.shape(), device, DType::I64), Update::Add);
  return reshape(narrow(counts, 1, 0, bins.count), {x.dim(0), x.dim(1), bins.count});
}

Value equalized(const Value& x) {
  constexpr std::string_view name = "equalized";
  const CalledAs named("equalized");
  require_pictures(name, x);
  require<DTypeError>(x.dtype() == DType::U8, name, ": needs uint8, got ", x.dtype());
  if (x.numel() == 0) return x;
  const std::int64_t pixels = x.dim(2) * x.dim(3);
  const Value counts = histogram(x), sums = cumsum(counts, -1);
  // The pixels of the least value become 0 and do not count.
  const Value first = min(where(eq(sums, 0), pixels, sums), {-1}, true);
  const Value others = pixels - first;
  const Value scale = 255.0 / cast(maximum(others, 1), DType::F32);
  const Value table = rounded_to(cast(maximum(sums - first, 0), DType::F32) * scale, DType::U8);
  const Value own = cast(arange(0, 256, 1, x.device()), DType::U8);
  const Value chosen = where(eq(others, 0), own, table);
  const Value index = reshape(cast(x, DType::I64), {x.dim(0), x.dim(1), pixels});
  return reshape(gather(chosen, -1, index), x.shape());
}

Value threshold(const Value& x, const Value& level, const Threshold& options) {
  constexpr std::string_view name = "threshold";
  const CalledAs named("threshold");
  require_pictures(name, x);
  require_enumerator(name, "kind of threshold", static_cast<int>(options.kind),
                     static_cast<int>(ThresholdKind::ToZeroInverse));
  require<ArgumentError>(!level.empty(), name, ": no level was given");
  require<ArgumentError>(!std::isnan(options.value), name, ": the value is NaN");
  Value limit = level;
  if (!level.is_scalar()) {
    require<ShapeError>(level.rank() == 2 && level.dim(0) == x.dim(0) && level.dim(1) == x.dim(1), name, ": levels ",
                        level.shape(), " must be [batch, channels] of pictures ", x.shape());
    limit = reshape(level.detach(), {x.dim(0), x.dim(1), 1, 1});
  }
  // The comparison is in a type that holds both. An integer is above a level if it is above the level rounded down.
  const DType wide = is_float(x.dtype()) ? x.dtype() : DType::F64;
  const Value above = gt(cast(x, wide), limit.is_scalar() ? limit : cast(limit, wide));
  const auto as_x = [&](const Value& number) {
    return cast(number.is_scalar() ? full({}, number.scalar().to<double>(), x.device(), DType::F64) : number,
                x.dtype());
  };
  const Value on = as_x(is_float(x.dtype()) ? options.value : std::nearbyint(options.value)), off = as_x(0.0);
  switch (options.kind) {
    case ThresholdKind::Binary: return where(above, on, off);
    case ThresholdKind::BinaryInverse: return where(above, off, on);
    case ThresholdKind::Truncate: {
      const Value cut = limit.is_scalar() ? full({}, limit.scalar().to<double>(), x.device(), DType::F64) : limit;
      return where(above, as_x(is_float(x.dtype()) ? cut : floor(cut)), x);
    }
    case ThresholdKind::ToZero: return where(above, x, off);
    case ThresholdKind::ToZeroInverse: break;
  }
  return where(above, off, x);
}

Value otsu_levels(const Value& x, const Bins& bins) {
  constexpr std::string_view name = "otsu_levels";
  const CalledAs named("otsu_levels");
  require_pictures(name, x);
  require_bins(name, bins);
  // Sums of whole numbers are exact on every device, so that a bin without pixels has the same sum as the one before
  // it.
  const Value counts = histogram(x, bins), places = arange(0, bins.count, 1, x.device());
  const Value pixels = cast(cumsum(counts, -1), DType::F64), sums = cast(cumsum(counts * places, -1), DType::F64);
  const auto last = [&](const Value& v) { return narrow(v, -1, bins.count - 1, 1); };
  const Value all = maximum(last(pixels), 1.0), lower = pixels / all, moment = sums / all, mean = last(sums) / all;
  // The variance between the classes for each last bin of the lower class; none where a class is empty.
  const Value product = lower * (1 - lower);
  const Value between = where(gt(product, 1e-7), square(mean * lower - moment) / maximum(product, 1e-7), 0.0);
  return cast(argmax(between, -1), DType::F64) * ((bins.high - bins.low) / static_cast<double>(bins.count)) +
         where(gt(max(between, {-1}), 0.0), bins.low, 0.0);
}

}  // namespace kiln::vision
