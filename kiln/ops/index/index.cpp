#include "kiln/ops/index/index.hpp"

#include <algorithm>
#include <limits>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/index/index_ops.hpp"

namespace kiln {

// ---- one index for each element ------------------------------------------------------------------------------------

Value take_along_dim(const Value& x, const Value& index, Dim dim) {
  const int at = wrap_dim("take_along_dim", dim, x.rank());
  op::require_index("take_along_dim", index);
  require<ShapeError>(index.rank() == x.rank(), "take_along_dim: index ", index.shape(),
                      " must have as many dimensions as ", x);
  Shape beside_x = x.shape(), beside_index = index.shape();
  beside_x[at] = beside_index[at] = 1;
  Shape x_shape = broadcast("take_along_dim", beside_x, beside_index), index_shape = x_shape;
  x_shape[at] = x.shape()[at];
  index_shape[at] = index.shape()[at];
  return gather(expand(x, x_shape), at, expand(ravel_index(Values{index}, {x.shape()[at]}), index_shape));
}

namespace {

/// The start value of a combination, its neutral element.
Scalar neutral(Combine how, DType dtype) {
  const bool least = how == Combine::Max;
  if (how == Combine::Prod) return dtype == DType::Bool ? Scalar(true) : Scalar(1);
  if (how != Combine::Max && how != Combine::Min) return dtype == DType::Bool ? Scalar(false) : Scalar(0);
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Scalar {
    if constexpr (std::is_same_v<T, bool>) return !least;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
    else return least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  });
}

/// Combines x with source; write(target, source, update) is target with source written at the indexed positions.
template <class Write>
Value combined(const Value& x, const Value& source, Combine how, bool with_self, Write write) {
  Value base = x, untouched;
  if (!with_self) {
    untouched = write(ones(x.shape(), x.device(), DType::Bool), false, Update::Assign);
    base = where(untouched, x, full({}, neutral(how, x.dtype()), x.device(), x.dtype()));
  }
  switch (how) {
    case Combine::Prod: return write(base, source, Update::Mul);
    case Combine::Max: return write(base, source, Update::Max);
    case Combine::Min: return write(base, source, Update::Min);
    case Combine::Sum:
    case Combine::Mean: break;
  }
  const Value sums = write(base, source, Update::Add);
  if (how == Combine::Sum) return sums;
  const Value before = with_self ? ones(x.shape(), x.device(), DType::I64) : cast(untouched, DType::I64);
  const Value counts = write(before, 1, Update::Add);
  return is_float(x.dtype()) ? sums / cast(counts, x.dtype()) : cast(floor_divide(sums, counts), x.dtype());
}

}  // namespace

Value scatter_reduce(const Value& x, Dim dim, const Value& index, const Value& source, Combine how, bool with_self) {
  op::require_tensor("scatter_reduce", x);
  op::require_index("scatter_reduce", index);
  return combined(x, source, how, with_self, [&](const Value& target, const Value& written, Update update) {
    return scatter(target, dim, index, written, update);
  });
}
Value index_reduce(const Value& x, Dim dim, const Value& index, const Value& source, Combine how, bool with_self) {
  op::require_tensor("index_reduce", x);
  op::require_index("index_reduce", index);
  return combined(x, source, how, with_self, [&](const Value& target, const Value& written, Update update) {
    return select_assign(target, dim, index, written, update);
  });
}

Value select_scatter(const Value& x, const Value& source, Dim dim, std::int64_t index) {
  const Value place = at(x, dim, index);
  require<ShapeError>(source.is_scalar() || source.shape() == place.shape(), "select_scatter: ", source,
                      " does not have the shape ", place.shape(), " of a slice of ", x);
  const int along = wrap_dim("select_scatter", dim, x.rank());
  const std::int64_t begin = index < 0 ? index + x.dim(along) : index;
  return slice_scatter(x, source.is_scalar() ? source : unsqueeze(source, along), along, {begin, begin + 1});
}
Value slice_scatter(const Value& x, const Value& source, Dim dim, const Range& range) {
  op::require_tensor("slice_scatter", x);
  std::vector<Range> ranges(static_cast<std::size_t>(wrap_dim("slice_scatter", dim, x.rank())) + 1);
  ranges.back() = range;
  return slice_assign(x, ranges, source);
}

Value take(const Value& x, const Value& index) {
  const CalledAs named("take");
  op::require_tensor("take", x);
  return select(reshape(x, {x.numel()}), 0, ravel_index(Values{index}, {x.numel()}));
}

// ---- several indices for each element or slice ---------------------------------------------------------------------

Values unravel_index(const Value& index, const Shape& shape) {
  require<ArgumentError>(!shape.empty(), "unravel_index: the shape has no dimensions");
  Values indices(static_cast<std::size_t>(shape.size()));
  Value rest = ravel_index(Values{index}, {numel(shape)});
  for (int i = shape.size() - 1; i > 0; --i) {
    indices[static_cast<std::size_t>(i)] = remainder(rest, shape[i]);
    rest = floor_divide(rest, shape[i]);
  }
  indices[0] = rest;
  return indices;
}

namespace {

/// x with its indexed dimensions merged into one, `dim`, and the index into that. select() along `dim` is the result.
struct Raveled {
  Value x, index;
  int dim;
  Dims order;   // the dimensions of x in the order of the permuted tensor
  Shape shape;  // of the permuted tensor, before the dimensions were merged

  /// Reverses the merging and permutation of x.
  Value restore(const Value& result) const {
    Dims back = order;
    for (int i = 0; i < order.size(); ++i) back[static_cast<int>(order[i])] = i;
    return permute(reshape(result, shape), back);
  }
};

/// indices[d] is for dimension d; dimensions with an empty index are not indexed.
Raveled ravel(std::string_view op, const Value& x, Inputs indices) {
  Raveled result;
  Dims indexed, others;
  Values present;
  for (int i = 0; i < x.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_indexed = at < indices.size() && !indices[at].empty();
    (is_indexed ? indexed : others).push_back(i);
    if (is_indexed) present.push_back(indices[at]);
  }
  const bool neighbours = indexed.back() - indexed[0] + 1 == indexed.size();
  result.dim = neighbours ? static_cast<int>(indexed[0]) : 0;
  result.order = others;
  for (int i = 0; i < indexed.size(); ++i) result.order.insert(result.dim + i, indexed[i]);
  const Value permuted = permute(x, result.order);
  result.shape = permuted.shape();
  Shape sizes, merged;
  for (int i = 0; i < x.rank(); ++i) {
    const bool inside = i >= result.dim && i < result.dim + indexed.size();
    if (inside) sizes.push_back(result.shape[i]);
    if (i == result.dim) merged.push_back(1);
    if (inside) merged.back() = multiply_sizes(op, merged.back(), result.shape[i]);
    else merged.push_back(result.shape[i]);
  }
  result.x = reshape(permuted, merged);
  result.index = ravel_index(present, sizes);
  return result;
}

/// Returns one index per dimension: masks become the positions where they are true.
Values without_masks(std::string_view op, const Value& x, Inputs indices) {
  Values result;
  for (const Value& index : indices) {
    if (index.empty() || index.dtype() != DType::Bool) {
      result.push_back(index);
      continue;
    }
    op::require_tensor(op, index);
    const int first = static_cast<int>(result.size());
    bool fits = first + index.rank() <= x.rank() && index.rank() > 0;
    for (int i = 0; fits && i < index.rank(); ++i) fits = index.shape()[i] == x.shape()[first + i];
    require<ShapeError>(fits, op, ": the mask ", index.shape(), " does not fit ", x.shape(), " from dimension ", first);
    for (const Value& places : nonzero(index)) result.push_back(places);
  }
  require<IndexError>(static_cast<int>(result.size()) <= x.rank(), op, ": ", result.size(), " indices for ", x);
  for (const Value& index : result)
    if (!index.empty()) return result;
  fail<ArgumentError>(op, ": needs an index");
}

/// Splits an index into the k indices along its last dimension.
Values last_dimension(std::string_view op, const Value& x, const Value& index) {
  op::require_index(op, index);
  require<ShapeError>(index.rank() > 0 && index.shape().back() >= 1 && index.shape().back() <= x.rank(), op,
                      ": the last dimension of index ", index.shape(), " must have 1 to ", x.rank(), " elements, for ",
                      x);
  Values indices;
  for (std::int64_t i = 0; i < index.shape().back(); ++i) indices.push_back(at(index, -1, i));
  return indices;
}

Value put(std::string_view op, const Value& x, Inputs indices, const Value& source, Update update) {
  const Raveled raveled = ravel(op, x, indices);
  if (source.is_scalar()) return raveled.restore(select_assign(raveled.x, raveled.dim, raveled.index, source, update));
  Shape selected = raveled.x.shape();
  selected.erase(raveled.dim);
  for (int i = 0; i < raveled.index.rank(); ++i) selected.insert(raveled.dim + i, raveled.index.shape()[i]);
  op::require_tensor(op, source);
  bool fits = source.rank() <= selected.size();
  for (int i = 1; fits && i <= source.rank(); ++i) {
    const std::int64_t size = source.shape()[source.rank() - i];
    fits = size == 1 || size == selected[selected.size() - i];
  }
  require<ShapeError>(fits, op, ": source ", source.shape(), " does not broadcast to ", selected);
  return raveled.restore(select_assign(raveled.x, raveled.dim, raveled.index, expand(source, selected), update));
}

}  // namespace

Value gather_nd(const Value& x, const Value& index) {
  const CalledAs named("gather_nd");
  const Raveled raveled = ravel("gather_nd", x, last_dimension("gather_nd", x, index));
  return select(raveled.x, raveled.dim, raveled.index);
}
Value scatter_nd(const Value& x, const Value& index, const Value& source, Update update) {
  const CalledAs named("scatter_nd");
  return put("scatter_nd", x, last_dimension("scatter_nd", x, index), source, update);
}
Value index_get(const Value& x, Inputs indices) {
  const CalledAs named("index_get");
  const Raveled raveled = ravel("index_get", x, without_masks("index_get", x, indices));
  return select(raveled.x, raveled.dim, raveled.index);
}
Value index_put(const Value& x, Inputs indices, const Value& source, Update update) {
  const CalledAs named("index_put");
  return put("index_put", x, without_masks("index_put", x, indices), source, update);
}

// ---- masks ---------------------------------------------------------------------------------------------------------

namespace {

Value as_tensor(const Value& value, const Value& like) {
  return value.is_scalar() ? full({}, value.scalar(), like.device(), like.dtype()) : value;
}

void require_mask(std::string_view op, const Value& mask) {
  op::require_tensor(op, mask);
  require<DTypeError>(mask.dtype() == DType::Bool, op, ": the mask must be boolean, got ", mask);
}
void require_mask_of(std::string_view op, const Value& x, const Value& mask) {
  op::require_tensor(op, x);
  require_mask(op, mask);
  require<ShapeError>(mask.shape() == x.shape(), op, ": the mask ", mask.shape(), " does not have the shape of ", x);
}

}  // namespace

Values nonzero(const Value& x) {
  require<ShapeError>(x.rank() > 0, "nonzero: ", x, " has no dimensions to index");
  return unravel_index(flat_nonzero(x), x.shape());
}
Value argwhere(const Value& x) {
  if (x.rank() > 0) return stack(nonzero(x), 1);
  const Value places = flat_nonzero(x);
  return zeros({places.numel(), 0}, x.device(), DType::I64);
}

Value mask_select(const Value& x, const Value& mask) {
  const CalledAs named("mask_select");
  require_mask_of("mask_select", x, mask);
  return emit(op::MaskSelect{static_cast<std::int64_t>(sum(mask).item())}, {x, mask});
}

Value mask_where(const Value& x, const Value& mask, const Value& value) {
  require_mask("mask_where", mask);
  return where(mask, value, x);
}
Value mask_fill(const Value& x, const Value& mask, const Scalar& number) {
  require_mask("mask_fill", mask);
  return where(mask, as_tensor(number, x), x);
}

Value masked_scatter(const Value& x, const Value& mask, const Value& source) {
  const CalledAs named("masked_scatter");
  require_mask_of("masked_scatter", x, mask);
  op::require_tensor("masked_scatter", source);
  const Value places = flat_nonzero(mask);
  const std::int64_t count = places.numel();
  require<ShapeError>(source.numel() >= count, "masked_scatter: ", source, " has ", source.numel(), " elements for ",
                      count, " places");
  const Value first = narrow(reshape(source, {source.numel()}), 0, 0, count);
  return reshape(select_assign(reshape(x, {x.numel()}), 0, places, first), x.shape());
}

Value mask_assign(const Value& x, const Value& mask, const Value& value) {
  const CalledAs named("mask_assign");
  op::require_tensor("mask_assign", x);
  require_mask("mask_assign", mask);
  const int rest = x.rank() - mask.rank();
  if (value.rank() > rest) return index_put(x, Values{mask}, value);
  Shape shape = mask.shape();
  for (int i = 0; i < rest; ++i) shape.push_back(1);
  bool fits = rest >= 0;
  for (int i = 0; fits && i < mask.rank(); ++i) fits = mask.shape()[i] == x.shape()[i];
  require<ShapeError>(fits, "mask_assign: the mask ", mask.shape(), " does not fit ", x.shape(), " from dimension 0");
  const Value same = as_tensor(value, x);
  op::require_same_dtype("mask_assign", x, same);
  return expand(where(reshape(mask, shape), same, x), x.shape());
}

Value one_hot_fill(const Value& index, std::int64_t classes, const Scalar& on, const Scalar& off, Dim dim,
                   DType dtype) {
  const CalledAs named("one_hot_fill");
  op::require_index("one_hot_fill", index);
  require<ArgumentError>(classes >= 0, "one_hot_fill: ", classes, " classes");
  const int at = wrap_dim("one_hot_fill", dim, index.rank() + 1);
  Shape shape = Shape::filled(index.rank() + 1, 1);
  shape[at] = classes;
  const Value numbers = reshape(arange(0, classes, 1, index.device()), shape);
  const auto number = [&](const Scalar& scalar) { return full({}, scalar, index.device(), dtype); };
  return where(eq(unsqueeze(cast(index, DType::I64), at), numbers), number(on), number(off));
}

}  // namespace kiln
