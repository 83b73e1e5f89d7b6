#include "kiln/ops/reduce/order.hpp"

#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/reduce/scan.hpp"

namespace kiln {
namespace {

ValueWithIndices without(const ValueWithIndices& kept, int dim, bool keep) {
  return keep ? kept : ValueWithIndices{squeeze(kept.values, dim), squeeze(kept.indices, dim)};
}

/// The elements of x at one index for each line along `dim`.
ValueWithIndices chosen(const Value& x, int dim, const Value& kept_indices, bool keep) {
  return without({gather(x, dim, kept_indices), kept_indices}, dim, keep);
}

}  // namespace

Value argsort(const Value& x, Dim dim, bool descending) { return sort(x, dim, descending).indices; }
Value msort(const Value& x) { return sort(x, 0).values; }
Value argtopk(const Value& x, std::int64_t k, Dim dim, bool largest) { return topk(x, k, dim, largest).indices; }

ValueWithIndices max_with_index(const Value& x, Dim dim, bool keep) {
  return chosen(x, dim, argmax(x, dim, true), keep);
}
ValueWithIndices min_with_index(const Value& x, Dim dim, bool keep) {
  return chosen(x, dim, argmin(x, dim, true), keep);
}

ValueWithIndices kthvalue(const Value& x, std::int64_t k, Dim dim, bool keep) {
  if (is_point("kthvalue", x, dim)) return kthvalue(line_of(x), k, 0);
  dim = wrap_dim("kthvalue", dim, x.rank());
  require<ArgumentError>(1 <= k && k <= x.dim(dim), "kthvalue: k is ", k, " but dimension ", dim, " has ", x.dim(dim),
                         " elements, counted from 1");
  const auto [values, indices] = topk(x, k, dim, false);
  return without({narrow(values, dim, k - 1, 1), narrow(indices, dim, k - 1, 1)}, dim, keep);
}

Value is_sorted(const Value& x, Dim dim, bool descending) {
  if (is_point("is_sorted", x, dim)) return is_sorted(line_of(x), 0);
  dim = wrap_dim("is_sorted", dim, x.rank());
  if (x.dim(dim) < 2) return all(ones(x.shape(), x.device(), DType::Bool), {dim});
  Value earlier = narrow(x, dim, 0, x.dim(dim) - 1), later = narrow(x, dim, 1, x.dim(dim) - 1);
  if (descending) std::swap(earlier, later);
  const Value in_order = le(earlier, later);
  return all(is_float(x.dtype()) ? logical_or(in_order, is_nan(later)) : in_order, {dim});
}

ValueWithIndices mode(const Value& x, Dim dim, bool keep) {
  if (is_point("mode", x, dim)) return mode(line_of(x), 0);
  dim = wrap_dim("mode", dim, x.rank());
  const std::int64_t length = x.dim(dim);
  require<ShapeError>(length > 0, "mode: ", x, " has no elements along dimension ", dim);
  const auto [values, indices] = sort(x.detach(), dim);
  // The length of the run of equal elements that ends at each position of the sorted line.
  Shape along = Shape::filled(x.rank(), 1);
  along[dim] = length;
  const Value place = reshape(arange(0, length, 1, x.device()), along);
  const Value first = searchsorted(transpose(values, dim, -1), transpose(values, dim, -1));
  const Value start = transpose(first, dim, -1);
  const Value longest = argmax(place - start, dim, true);
  return chosen(x, dim, gather(indices, dim, gather(start, dim, longest)), keep);
}

Value searchsorted(const Value& sequence, const Value& values, bool right, const Value& sorter) {
  require<ShapeError>(sorter.shape() == sequence.shape() && sequence.rank() > 0, "searchsorted: the sorter ", sorter,
                      " does not have the shape of ", sequence);
  return searchsorted(take_along_dim(sequence, sorter, -1), values, right);
}

Value isin(const Value& x, const Value& elements) {
  if (elements.is_scalar()) return eq(x, elements);
  if (x.is_scalar()) return isin(full({}, x.scalar(), elements.device(), x.dtype()), elements);
  const DType dtype = promote(x.dtype(), elements.dtype());
  const Value line = sort(reshape(cast(elements.detach(), dtype), {elements.numel()}), 0).values;
  const Value asked = cast(x.detach(), dtype);
  const Value found = lt(searchsorted(line, asked), searchsorted(line, asked, true));
  return is_float(dtype) ? logical_and(found, logical_not(is_nan(asked))) : found;
}

Value bucketize(const Value& x, const Value& boundaries, bool right) {
  require<ShapeError>(boundaries.rank() == 1, "bucketize: the boundaries must be a list, got ", boundaries);
  return searchsorted(boundaries, x, right);
}

}  // namespace kiln
