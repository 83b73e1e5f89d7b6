#include "kiln/ops/view/diagonal.hpp"

#include "kiln/ops/index/index.hpp"

#include <algorithm>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

/// The diagonal as a slice of the flattened matrix.
struct Diagonal {
  std::int64_t count;
  Range range;
};

/// The diagonal of a matrix whose number of elements fits 63 bits.
Diagonal place(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  const std::int64_t below = offset < 0 ? std::min(-std::max(offset, -rows), rows) : 0;
  const std::int64_t right = offset > 0 ? std::min(offset, columns) : 0;
  const std::int64_t count = std::min(rows - below, columns - right), first = below * columns + right;
  return {count, {first, count == 0 ? first : first + (count - 1) * (columns + 1) + 1, columns + 1}};
}

void require_matrices(std::string_view op, const Value& x) {
  require<ShapeError>(x.rank() >= 2, op, ": needs matrices, got ", x);
}

/// compare(column, row + offset) for each element.
Value mask(std::string_view op, const Shape& shape, const Device& device, std::int64_t offset,
           Value (*compare)(const Value&, const Value&)) {
  require<ShapeError>(shape.size() == 2, op, ": needs the shape of a matrix, got ", shape);
  numel(shape);  // throws where it is impossible
  // All offsets outside of the matrix are equivalent.
  offset = std::clamp(offset, -shape[0], shape[1]);
  // Counted in float32 where that is exact, as more numbers fit a vector, and as the masked operation may be computed
  // in float32 too.
  constexpr std::int64_t kExact = 1 << 24;
  const DType dtype = shape[0] < kExact / 2 && shape[1] < kExact / 2 ? DType::F32 : DType::I64;
  const Value columns = arange(0, shape[1], 1, device, dtype), rows = arange(0, shape[0], 1, device, dtype);
  return compare(columns, unsqueeze(rows, 1) + offset);
}

Value kept(const Value& x, const Value& mask) { return where(mask, x, full({}, 0, x.device(), x.dtype())); }

}  // namespace

Value diagonal(const Value& x, std::int64_t offset, Dim dim1, Dim dim2) {
  require_matrices("diagonal", x);
  const int row_dim = wrap_dim("diagonal", dim1, x.rank()), column_dim = wrap_dim("diagonal", dim2, x.rank());
  require<ArgumentError>(row_dim != column_dim, "diagonal: dimension ", dim1, " is named twice");
  const Value matrices = movedim(x, {row_dim, column_dim}, {-2, -1});
  const Value lines = flatten(matrices, -2);
  const Diagonal diagonal = place(matrices.dim(-2), matrices.dim(-1), offset);
  return diagonal.count == 0 ? narrow(lines, -1, 0, 0) : slice_dim(lines, -1, diagonal.range);
}

Value diag_embed(const Value& x, std::int64_t offset, Dim dim1, Dim dim2) {
  require<ShapeError>(x.rank() >= 1, "diag_embed: ", x, " has no diagonal");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  require<ArgumentError>(-kMost < offset && offset < kMost, "diag_embed: a diagonal ", offset, " off the main one");
  const std::int64_t size = add_sizes("diag_embed", x.dim(-1), offset < 0 ? -offset : offset);
  Shape lines = x.shape(), square = x.shape();
  square.back() = size;
  square.push_back(size);
  lines.back() = multiply_sizes("diag_embed", size, size);
  std::vector<Range> ranges(static_cast<std::size_t>(x.rank()));
  ranges.back() = place(size, size, offset).range;
  const Value result = slice_assign(zeros(lines, x.device(), x.dtype()), ranges, x);
  return movedim(reshape(result, square), {-2, -1}, {dim1, dim2});
}

Value diagonal_scatter(const Value& x, const Value& source, std::int64_t offset, Dim dim1, Dim dim2) {
  const Value numbers = reshape(arange(0, x.numel(), 1, x.device()), x.shape());
  const Value places = diagonal(numbers, offset, dim1, dim2);
  require<ShapeError>(source.is_scalar() || source.shape() == places.shape(), "diagonal_scatter: ", source,
                      " does not have the shape ", places.shape(), " of the diagonal of ", x);
  const Value flat = source.is_scalar() ? source : reshape(source, {source.numel()});
  return reshape(select_assign(reshape(x, {x.numel()}), 0, reshape(places, {places.numel()}), flat), x.shape());
}

Value diag(const Value& x, std::int64_t offset) {
  require<ShapeError>(x.rank() == 1 || x.rank() == 2, "diag: needs a vector or a matrix, got ", x);
  return x.rank() == 1 ? diag_embed(x, offset) : diagonal(x, offset);
}

Value trace(const Value& x) {
  require_matrices("trace", x);
  return sum(diagonal(x), {-1});
}

Value triu_mask(const Shape& shape, const Device& device, std::int64_t offset) {
  const CalledAs named("triu_mask");
  return mask("triu_mask", shape, device, offset, &ge);
}
Value tril_mask(const Shape& shape, const Device& device, std::int64_t offset) {
  const CalledAs named("tril_mask");
  return mask("tril_mask", shape, device, offset, &le);
}
Value diag_mask(const Shape& shape, const Device& device, std::int64_t offset) {
  return mask("diag_mask", shape, device, offset, &eq);
}

Value triu(const Value& x, std::int64_t offset) {
  require_matrices("triu", x);
  return kept(x, triu_mask({x.dim(-2), x.dim(-1)}, x.device(), offset));
}
Value tril(const Value& x, std::int64_t offset) {
  require_matrices("tril", x);
  return kept(x, tril_mask({x.dim(-2), x.dim(-1)}, x.device(), offset));
}

}  // namespace kiln
