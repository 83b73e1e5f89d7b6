#include "kiln/ops/functions/calculus.hpp"

#include "kiln/ops/functions/order.hpp"
#include "kiln/ops/functions/scan.hpp"

namespace kiln {
namespace {

/// All elements along `dim` but the last, and all but the first.
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

/// The areas between neighbours along `dim`, for points `width` apart.
Value areas(std::string_view op, const Value& y, const Value& width, int dim) {
  require<ShapeError>(y.dim(dim) > 0, op, ": ", y, " has no points along dimension ", dim);
  const Neighbours points(y, dim);
  return (points.before + points.after) * 0.5 * width;
}

/// How far apart the points are, to be multiplied with areas along `dim`.
Value widths(std::string_view op, const Value& y, const Value& x, int dim) {
  const bool list = x.rank() == 1 && x.dim(0) == y.dim(dim);
  require<ShapeError>(list || x.shape() == y.shape(), op, ": places ", x, " are neither a list of ", y.dim(dim),
                      " nor of the shape of ", y);
  Shape along = Shape::filled(y.rank(), 1);
  along[dim] = y.dim(dim);
  return diff(list ? reshape(x, along) : x, 1, dim);
}

}  // namespace

Value diff(const Value& x, int n, int dim, const Value& prepend, const Value& append) {
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

Value trapezoid(const Value& y, double spacing, int dim) {
  dim = wrap_dim("trapezoid", dim, y.rank());
  return sum(areas("trapezoid", y, spacing, dim), {dim});
}
Value trapezoid(const Value& y, const Value& x, int dim) {
  dim = wrap_dim("trapezoid", dim, y.rank());
  return sum(areas("trapezoid", y, widths("trapezoid", y, x, dim), dim), {dim});
}
Value cumulative_trapezoid(const Value& y, double spacing, int dim) {
  dim = wrap_dim("cumulative_trapezoid", dim, y.rank());
  return cumsum(areas("cumulative_trapezoid", y, spacing, dim), dim);
}
Value cumulative_trapezoid(const Value& y, const Value& x, int dim) {
  dim = wrap_dim("cumulative_trapezoid", dim, y.rank());
  return cumsum(areas("cumulative_trapezoid", y, widths("cumulative_trapezoid", y, x, dim), dim), dim);
}

Value interp(const Value& x, const Value& xs, const Value& ys, const Value& left, const Value& right) {
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
