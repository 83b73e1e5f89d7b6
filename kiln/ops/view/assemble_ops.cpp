#include "kiln/ops/view/assemble_ops.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/view/view_ops.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {

Descs Cat::infer(Inputs in) const {
  require<ArgumentError>(!in.empty(), "cat: needs at least one tensor");
  require_tensor(kName, in[0]);
  Shape shape = in[0].shape();
  const int at = require_dim(kName, dim, shape.size());
  for (const Value& part : in.subspan(1)) {
    require_tensor(kName, part);
    require_same_dtype(kName, in[0], part);
    bool fits = part.rank() == shape.size();
    for (int i = 0; fits && i < shape.size(); ++i) fits = i == at || part.shape()[i] == shape[i];
    require<ShapeError>(fits, "cat: ", in[0].shape(), " and ", part.shape(), " differ beyond dimension ", at);
    shape[at] = add_sizes(kName, shape[at], part.shape()[at]);
  }
  return one(shape, in[0].dtype());
}
void Cat::vjp(Backward& backward) const {
  std::int64_t start = 0;
  for (int i = 0; i < backward.arity(); ++i) {
    const std::int64_t count = backward.in_desc(i).shape[dim];
    backward.to(i, [&] { return narrow(backward.grad(), dim, start, count); });
    start += count;
  }
}

Descs Ravel::infer(Inputs in) const {
  require<ArgumentError>(!in.empty(), "ravel: needs at least one tensor");
  std::int64_t count = 0;
  for (const Value& part : in) {
    require_tensor(kName, part);
    count = add_sizes(kName, count, numel(part.shape()));
  }
  return one({count}, dtype);
}
void Ravel::vjp(Backward& backward) const {
  std::int64_t start = 0;
  for (int i = 0; i < backward.arity(); ++i) {
    const Desc& part = backward.in_desc(i);
    const std::int64_t count = numel(part.shape);
    backward.to(i, [&] { return cast(reshape(narrow(backward.grad(), 0, start, count), part.shape), part.dtype); });
    start += count;
  }
}
Values Ravel::expand(Inputs in) const {
  Values lines;
  for (const Value& part : in) lines.push_back(reshape(cast(part, dtype), {numel(part.shape())}));
  return {emit(Cat{0}, lines)};
}

}  // namespace op

Value ravel(Inputs parts, DType dtype) {
  if (parts.size() == 1) return reshape(cast(parts[0], dtype), {numel(parts[0].shape())});
  return emit(op::Ravel{dtype}, parts);
}

Value cat(Inputs parts, Dim dim) {
  require<ArgumentError>(!parts.empty(), "cat: needs at least one tensor");
  const int axis = wrap_dim("cat", dim, parts[0].rank());
  if (parts.size() == 1) return parts[0];
  DType dtype = parts[0].dtype();
  for (const Value& part : parts) dtype = promote(dtype, part.dtype());
  Values same;
  for (const Value& part : parts) same.push_back(cast(part, dtype));
  return emit(op::Cat{axis}, same);
}

Value stack(Inputs parts, Dim dim) {
  require<ArgumentError>(!parts.empty(), "stack: needs at least one tensor");
  Values raised;
  for (const Value& part : parts) {
    require<ShapeError>(part.shape() == parts[0].shape(), "stack: ", parts[0].shape(), " and ", part.shape(),
                        " differ");
    raised.push_back(unsqueeze(part, dim));
  }
  return cat(raised, dim);
}

Values split(const Value& x, std::int64_t size, Dim dim) {
  require<ArgumentError>(size > 0, "split: parts of ", size, " elements");
  const std::int64_t total = x.dim(dim);
  Values parts;
  for (std::int64_t start = 0; start < total;) {
    const std::int64_t count = std::min(size, total - start);
    parts.push_back(narrow(x, dim, start, count));
    start += count;
  }
  return parts;
}

Value pad(const Value& x, const Dims& before, const Dims& after, const Scalar& value) {
  require<ShapeError>(before.size() == x.rank() && after.size() == x.rank(), "pad: ", before, " and ", after,
                      " do not have one entry for each dimension of ", x);
  // Negative numbers remove elements before others are added.
  Value inner = x;
  Dims more = before, behind = after;
  for (int i = 0; i < x.rank(); ++i) {
    if (before[i] >= 0 && after[i] >= 0) continue;
    const std::int64_t size = x.shape()[i], first = std::min<std::int64_t>(before[i], 0),
                       last = std::min<std::int64_t>(after[i], 0);
    require<ArgumentError>(first >= -size && last >= -size - first, "pad: by ", first, " and ", last,
                           " elements nothing is left of the ", size, " of dimension ", i);
    inner = narrow(inner, i, -first, size + first + last);
    more[i] -= first;
    behind[i] -= last;
  }
  if (inner.shape() != x.shape()) return pad(inner, more, behind, value);
  Shape shape = x.shape();
  for (int i = 0; i < x.rank(); ++i) { shape[i] = add_sizes("pad", shape[i], add_sizes("pad", before[i], after[i])); }
  if (shape == x.shape()) return x;
  const Value frame = full(shape, value, x.device(), x.dtype());
  return emit(op::SliceAssign{before, Dims::filled(x.rank(), 1)}, {frame, x});
}

}  // namespace kiln
