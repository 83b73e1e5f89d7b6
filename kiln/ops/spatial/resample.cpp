#include "kiln/ops/spatial/resample.hpp"

#include <cmath>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/spatial/resample_ops.hpp"

namespace kiln {
namespace {

/// The passes that resize x, one for each dimension that changes.
std::vector<op::Resample> passes(const Value& x, const InterpolateOptions& options) {
  const int axes = x.rank() - 2, sizes = options.size.size(), factors = options.scale.size();
  require<ArgumentError>((sizes == 0) != (factors == 0), "interpolate: needs either size or scale, got ", options.size,
                         " and ", factors, " factors");
  const int entries = sizes + factors;
  require<ArgumentError>(entries == axes || entries == 1, "interpolate: ", sizes ? "size" : "scale", " has ", entries,
                         " entries, ", x, " has ", axes, " spatial dimensions");
  std::vector<op::Resample> growing, shrinking;
  bool resized = false;
  for (int i = 0; i < axes; ++i) {
    const int entry = entries == 1 ? 0 : i;
    op::Resample pass{.dim = i + 2,
                      .from = x.shape()[i + 2],
                      .to = 0,
                      .mode = options.mode,
                      .align_corners = options.align_corners,
                      .antialias = options.antialias};
    if (sizes) {
      pass.to = options.size[entry];
    } else {
      const double factor = options.scale[entry];
      require<ArgumentError>(factor > 0 && factor < 0x1p31, "interpolate: the factor ", factor, " is not positive");
      const double exact = static_cast<double>(pass.from) * factor, size = std::floor(exact);
      require<ShapeError>(size < 0x1p62, "interpolate: ", x, " times ", factor, " is too large");
      pass.to = static_cast<std::int64_t>(size);
      // Where nothing was rounded the sizes give the same step, and exactly: 49 times 1 / 49 in doubles is less than 1.
      if (!options.align_corners && options.mode != Interpolation::Area && size != exact) pass.step = 1 / factor;
    }
    require<ShapeError>(pass.from > 0 && pass.to > 0, "interpolate: cannot resize dimension ", i + 2, " of ", x, " to ",
                        pass.to, " elements");
    resized |= pass.from != pass.to;
    if (pass.from == pass.to && (pass.step == 0 || pass.step == 1)) continue;
    (pass.to > pass.from ? growing : shrinking).push_back(pass);
  }
  if (!resized) return {};  // an image of unchanged size stays as it is, whatever the factor
  // Shrinking passes come first and growing ones last, each in the cheapest order: the last dimension is the most
  // expensive.
  shrinking.insert(shrinking.end(), growing.rbegin(), growing.rend());
  return shrinking;
}

/// Selects nearest elements, for any type.
Value select_nearest(Value x, const std::vector<op::Resample>& passes) {
  for (const op::Resample& pass : passes) {
    if (x.numel() == 0) {
      Shape shape = x.shape();
      shape[pass.dim] = pass.to;
      x = zeros(shape, x.device(), x.dtype());
      continue;
    }
    std::vector<std::int64_t> places;
    for (const auto& row : pass.taps().rows) places.push_back(row.begin);
    x = select(x, pass.dim, from_data(TensorData::of<std::int64_t>({pass.to}, places), x.device()));
  }
  return x;
}

}  // namespace

Value interpolate(const Value& x, const InterpolateOptions& options) {
  op::require_tensor("interpolate", x);
  require<ShapeError>(x.rank() >= 3 && x.rank() <= 5,
                      "interpolate: needs [batch, channels, 1 to 3 spatial dimensions], got ", x);
  const bool nearest = options.mode == Interpolation::Nearest || options.mode == Interpolation::NearestExact;
  const bool smooth = !nearest && options.mode != Interpolation::Area;
  require<ArgumentError>(smooth || (!options.align_corners && !options.antialias),
                         "interpolate: ", options.align_corners ? "align_corners" : "antialias",
                         " is for Linear, Cubic and Lanczos3");
  require<ArgumentError>(!options.align_corners || !options.antialias,
                         "interpolate: align_corners and antialias exclude each other");
  require<DTypeError>(is_float(x.dtype()) || nearest, "interpolate: only the nearest modes take integers, got ", x);
  const std::vector<op::Resample> list = passes(x, options);
  if (!is_float(x.dtype())) return select_nearest(x, list);
  // Halves are rounded once, not after each dimension.
  const bool widened = size_of(x.dtype()) == 2 && list.size() > 1 && !nearest;
  Value result = widened ? cast(x, DType::F32) : x;
  for (const op::Resample& pass : list) result = emit(pass, {result});
  return widened ? cast(result, x.dtype()) : result;
}

}  // namespace kiln
