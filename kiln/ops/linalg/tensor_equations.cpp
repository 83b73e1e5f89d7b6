// Linear equations between tensors of several dimensions, and Vandermonde matrices.
#include "kiln/ops/check.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

/// Dimensions [from, to) of a shape.
Shape part(const Shape& shape, int from, int to) { return Shape(shape.begin() + from, shape.begin() + to); }

}  // namespace

Value tensorsolve(const Value& a, const Value& b, const Dims& dims) {
  op::require_tensor("tensorsolve", a);
  op::require_tensor("tensorsolve", b);
  Dims end;
  for (int i = 0; i < dims.size(); ++i) end.push_back(i - dims.size());
  const Value moved = dims.empty() ? a : movedim(a, dims, end);
  const bool fits = b.rank() <= moved.rank() && part(moved.shape(), 0, b.rank()) == b.shape();
  const Shape unknown = fits ? part(moved.shape(), b.rank(), moved.rank()) : Shape{};
  require<ShapeError>(fits && numel(unknown) == b.numel(), "tensorsolve: ", moved.shape(), " is not ", b.shape(),
                      " followed by dimensions of as many elements");
  const std::int64_t count = b.numel();
  return reshape(solve(reshape(moved, {count, count}), reshape(b, {count})), unknown);
}

Value tensorinv(const Value& a, int count) {
  op::require_tensor("tensorinv", a);
  require<ArgumentError>(count > 0 && count <= a.rank(), "tensorinv: ", count, " of the dimensions of ", a);
  const Shape from = part(a.shape(), 0, count), to = part(a.shape(), count, a.rank());
  require<ShapeError>(numel(from) == numel(to), "tensorinv: ", from, " and ", to, " have ", numel(from), " and ",
                      numel(to), " elements");
  Shape shape = to;
  for (const auto size : from) shape.push_back(size);
  return reshape(inverse(reshape(a, {numel(from), numel(to)})), shape);
}

Value vander(const Value& x, std::int64_t columns) {
  require<ShapeError>(x.rank() >= 1, "vander: needs a dimension, got ", x);
  require<ArgumentError>(columns >= -1, "vander: ", columns, " columns");
  if (columns == -1) columns = x.dim(-1);
  Shape shape = x.shape();
  shape.push_back(columns);
  return cast(cumprod(expand(unsqueeze(x, -1), shape), -1, {.exclusive = true}),
              is_float(x.dtype()) ? x.dtype() : DType::I64);
}

}  // namespace kiln
