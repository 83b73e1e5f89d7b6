#include "kiln/ops/reduce/calculus.hpp"

#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln {
namespace {

/// The elements along `dim` without the last, and without the first.
struct Neighbours {
  Value before, after;
  Neighbours(const Value& x, int dim)
      : before(narrow(x, dim, 0, x.dim(dim) - 1)), after(narrow(x, dim, 1, x.dim(dim) - 1)) {}
};

/// A number as a slice that can be joined to x along `dim`.
Value slice_of(const Value& part, const Value& x, int dim) {
  if (!part.is_scalar()) return part;
  Shape shape = x.shape();
  shape[dim] = 1;
  return full(shape, part.scalar(), x.device(), promote_scalar(x.dtype(), part.scalar().kind()));
}

/// The areas between neighbours along `dim`, for points at distance `width`.
Value areas(std::string_view op, const Value& y, const Value& width, int dim) {
  require<ShapeError>(y.dim(dim) > 0, op, ": ", y, " has no points along dimension ", dim);
  const Neighbours points(as_float(y), dim);
  return (points.before * 0.5 + points.after * 0.5) * width;
}

/// The distances of the points, in a shape that multiplies areas along `dim`.
Value widths(std::string_view op, const Value& y, const Value& x, int dim) {
  const bool list = x.rank() == 1 && x.dim(0) == y.dim(dim);
  require<ShapeError>(list || x.shape() == y.shape(), op, ": places ", x, " are neither a list of ", y.dim(dim),
                      " nor of the shape of ", y);
  Shape along = Shape::filled(y.rank(), 1);
  along[dim] = y.dim(dim);
  return diff(widened_for_sums(list ? reshape(x, along) : x), 1, dim);
}

/// gradient() for values whose neighbours are `gaps` apart (empty: all distances are 1).
Value slope_along(const Value& any, const Value& gaps, int dim, int edge_order) {
  const Value y = as_float(any);
  const std::int64_t count = y.dim(dim);
  require<ArgumentError>(edge_order == 1 || edge_order == 2, "gradient: the order of the ends must be 1 or 2, got ",
                         edge_order);
  require<ShapeError>(count > edge_order, "gradient: ", any, " has ", count, " elements along dimension ", dim,
                      ", which must be more than ", edge_order);
  const Neighbours points(y, dim);
  const Value steps = gaps ? (points.after - points.before) / gaps : points.after - points.before;
  const Neighbours sides(steps, dim);
  Value inner, first = narrow(steps, dim, 0, 1), last = narrow(steps, dim, count - 2, 1);
  if (count > 2) {
    // The slope of the parabola through three points: the slopes on either side, each weighted by the other's width.
    const Value half = 0.5;
    Value share = half, begin = half, end = half;  // weights: of the slope after; of an end's own gap
    if (gaps) {
      const Neighbours widths(gaps, dim);
      share = widths.before / (widths.before + widths.after);
      begin = narrow(share, dim, 0, 1);
      end = 1 - narrow(share, dim, count - 3, 1);
    }
    inner = sides.before + (sides.after - sides.before) * share;
    if (edge_order == 2) {
      first = first - (narrow(sides.after, dim, 0, 1) - first) * begin;
      last = last + (last - narrow(sides.before, dim, count - 3, 1)) * end;
    }
  }
  return inner ? cat(Values{first, inner, last}, dim) : cat(Values{first, last}, dim);
}

}  // namespace

Values gradient(const Value& y, double spacing, const Dims& dims, int edge_order) {
  require<ArgumentError>(spacing != 0, "gradient: the spacing must not be 0");
  Values slopes;
  for (const auto dim : dims.empty() ? all_dims(y) : dims)
    slopes.push_back(slope_along(y, {}, wrap_dim("gradient", dim, y.rank()), edge_order) / spacing);
  return slopes;
}
Value gradient(const Value& y, const Value& x, Dim dim, int edge_order) {
  dim = wrap_dim("gradient", dim, y.rank());
  require<ShapeError>(x.shape() == Shape{y.dim(dim)}, "gradient: the places ", x, " are not one for each of the ",
                      y.dim(dim), " elements of dimension ", dim);
  return slope_along(y, widths("gradient", y, as_float(x), dim), dim, edge_order);
}

Value diff(const Value& x, int n, Dim dim, const Value& prepend, const Value& append) {
  dim = wrap_dim("diff", dim, x.rank());
  require<ArgumentError>(n >= 0, "diff: ", n, " times");
  Values parts{x};
  if (prepend) parts.insert(parts.begin(), slice_of(prepend, x, dim));
  if (append) parts.push_back(slice_of(append, x, dim));
  Value result = parts.size() > 1 ? cat(parts, dim) : x;
  for (; n > 0 && result.dim(dim) > 0; --n) {
    const Neighbours pairs(result, dim);
    result = result.dtype() == DType::Bool ? ne(pairs.after, pairs.before) : pairs.after - pairs.before;
  }
  return result;
}

Value trapezoid(const Value& y, double spacing, Dim dim) {
  dim = wrap_dim("trapezoid", dim, y.rank());
  const std::int64_t points = y.dim(dim);
  if (points < 2 || !is_float(y.dtype())) return sum(areas("trapezoid", y, spacing, dim), {dim});
  // Every point except the ends belongs to two areas.
  const Value ends = narrow(y, dim, 0, 1) * 0.5 + narrow(y, dim, points - 1, 1) * 0.5;
  return squeeze(sum(narrow(y, dim, 1, points - 2), {dim}, true) + ends, dim) * spacing;
}
Value trapezoid(const Value& y, const Value& x, Dim dim) {
  dim = wrap_dim("trapezoid", dim, y.rank());
  return sum(areas("trapezoid", y, widths("trapezoid", y, x, dim), dim), {dim});
}
Value cumulative_trapezoid(const Value& y, double spacing, Dim dim) {
  dim = wrap_dim("cumulative_trapezoid", dim, y.rank());
  return cumsum(areas("cumulative_trapezoid", y, spacing, dim), dim);
}
Value cumulative_trapezoid(const Value& y, const Value& x, Dim dim) {
  dim = wrap_dim("cumulative_trapezoid", dim, y.rank());
  return cumsum(areas("cumulative_trapezoid", y, widths("cumulative_trapezoid", y, x, dim), dim), dim);
}

Value interp(const Value& any, const Value& places, const Value& values, const Value& left, const Value& right) {
  const Value x = widened_for_sums(any), xs = widened_for_sums(places), ys = widened_for_sums(values);
  require<ShapeError>(xs.rank() == 1 && xs.shape() == ys.shape() && xs.numel() > 0,
                      "interp: the points must be two lists of one length, got ", xs, " and ", ys);
  const std::int64_t last = xs.numel() - 1;
  const Value first_y = left ? left : at(ys, 0, 0), last_y = right ? right : at(ys, 0, last);
  const Value below = lt(x, at(xs, 0, 0)), above = gt(x, at(xs, 0, last));
  const Value place = where(logical_or(below, above), at(xs, 0, 0), x);
  Value inside = first_y + (place - at(xs, 0, 0)) * 0.0;
  if (last > 0) {
    const Value segment = clamp(sub(searchsorted(xs.detach(), x.detach(), true), 1), 0, last - 1);
    const auto start = [&](const Value& list) { return select(list, 0, segment); };
    const Value slopes = diff(ys) / diff(xs);
    inside = start(ys) + (place - start(xs)) * start(slopes);
  }
  return where(below, first_y, where(above, last_y, inside));
}

}  // namespace kiln
