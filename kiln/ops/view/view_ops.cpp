#include "kiln/ops/view/view_ops.hpp"

#include <algorithm>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/view/another_view.hpp"
#include "kiln/ops/view/view.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {

Descs Reshape::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  require<ShapeError>(numel(shape) == in[0].numel(), "reshape: ", in[0], " has ", in[0].numel(), " elements, ", shape,
                      " has ", numel(shape));
  return one(shape, in[0].dtype());
}
void Reshape::vjp(Backward& backward) const {
  backward.to(0, [&] { return kiln::reshape(backward.grad(), backward.in_desc(0).shape); });
}

Descs Permute::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  const Shape& shape = in[0].shape();
  require<ShapeError>(dims.size() == shape.size(), "permute: ", dims, " does not order the dimensions of ", in[0]);
  Shape result;
  std::uint32_t seen = 0;
  for (const auto dim : dims) {
    require<ShapeError>(dim >= 0 && dim < shape.size() && !(seen >> dim & 1u), "permute: ", dims,
                        " does not order the dimensions of ", in[0]);
    seen |= 1u << dim;
    result.push_back(shape[static_cast<int>(dim)]);
  }
  return one(result, in[0].dtype());
}
void Permute::vjp(Backward& backward) const {
  Dims inverse = dims;
  for (int i = 0; i < dims.size(); ++i) inverse[static_cast<int>(dims[i])] = i;
  backward.to(0, [&] { return kiln::permute(backward.grad(), inverse); });
}

Descs Expand::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  numel(shape);  // throws where the shape is impossible
  const Shape& from = in[0].shape();
  const int extra = shape.size() - from.size();
  bool fits = extra >= 0;
  for (int i = 0; fits && i < from.size(); ++i) fits = from[i] == shape[i + extra] || from[i] == 1;
  require<ShapeError>(fits, "expand: ", in[0], " does not broadcast to ", shape);
  return one(shape, in[0].dtype());
}
void Expand::vjp(Backward& backward) const {
  backward.to(0, [&] { return sum_to(backward.grad(), backward.in_desc(0).shape); });
}

namespace {

void require_slice(std::string_view op, const Shape& shape, const Dims& begin, const Dims& step, const Shape& size) {
  require<ShapeError>(begin.size() == shape.size() && step.size() == shape.size() && size.size() == shape.size(), op,
                      ": one begin, step and size is needed for each dimension of ", shape);
  for (int i = 0; i < shape.size(); ++i) {
    require<ArgumentError>(step[i] != 0, op, ": the step of dimension ", i, " is 0");
    if (size[i] == 0) continue;
    std::int64_t last = 0;
    const bool counted = size[i] > 0 && !__builtin_mul_overflow(size[i] - 1, step[i], &last) &&
                         !__builtin_add_overflow(begin[i], last, &last);
    require<IndexError>(counted && begin[i] >= 0 && begin[i] < shape[i] && last >= 0 && last < shape[i], op,
                        ": elements from ", begin[i], " in steps of ", step[i], " leave dimension ", i, " of size ",
                        shape[i]);
  }
}

}  // namespace

Descs Slice::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  require_slice(kName, in[0].shape(), begin, step, size);
  return one(size, in[0].dtype());
}
void Slice::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Desc& x = backward.in_desc(0);
    return emit(SliceAssign{begin, step}, {zeros(x.shape, backward.device(), x.dtype), backward.grad()});
  });
}

Descs SliceAssign::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_tensor(kName, in[x]);
  require_tensor(kName, in[value]);
  require_same_dtype(kName, in[x], in[value]);
  require_slice(kName, in[x].shape(), begin, step, in[value].shape());
  return one(in[x].shape(), in[x].dtype());
}
void SliceAssign::vjp(Backward& backward) const {
  const Desc& part = backward.in_desc(value);
  backward.to(x, [&] { return emit(*this, {backward.grad(), zeros(part.shape, backward.device(), part.dtype)}); });
  backward.to(value, [&] { return emit(Slice{begin, step, part.shape}, {backward.grad()}); });
}

namespace {

/// The number of windows that fit into `length` elements.
std::int64_t window_count(std::string_view op, std::int64_t length, std::int64_t size, std::int64_t step,
                          std::int64_t dilation) {
  require<ArgumentError>(size >= 1 && step >= 1 && dilation >= 1, op, ": windows of ", size, " elements, ", dilation,
                         " apart, in steps of ", step);
  std::int64_t last = 0;  // from a window's first element to its last
  const bool fits = !__builtin_mul_overflow(size - 1, dilation, &last) && last < length;
  require<ShapeError>(fits, op, ": a window of ", size, " elements, ", dilation, " apart, does not fit into ", length);
  return (length - 1 - last) / step + 1;
}

}  // namespace

Descs Unfold::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  Shape shape = in[0].shape();
  const int at = require_dim(kName, dim, shape.size());
  shape[at] = window_count(kName, shape[at], size, step, dilation);
  shape.push_back(size);
  return one(shape, in[0].dtype());
}
void Unfold::vjp(Backward& backward) const {
  const std::int64_t length = backward.in_desc(0).shape[dim];
  backward.to(0, [&] { return emit(Fold{dim, length, step, dilation}, {backward.grad()}); });
}

Descs Fold::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_tensor(kName, in[0]);
  Shape shape = in[0].shape();
  require<ShapeError>(shape.size() >= 2, kName, ": ", in[0],
                      " has no dimension of windows beside that of their elements");
  const int at = require_dim(kName, dim, shape.size() - 1);
  const std::int64_t count = window_count(kName, length, shape.back(), step, dilation);
  require<ShapeError>(shape[at] == count, kName, ": ", length, " elements have ", count, " windows of ", shape.back(),
                      ", not the ", shape[at], " of ", in[0]);
  shape.pop_back();
  shape[at] = length;
  return one(shape, in[0].dtype());
}
void Fold::vjp(Backward& backward) const {
  const std::int64_t size = backward.in_desc(0).shape.back();
  backward.to(0, [&] { return emit(Unfold{dim, size, step, dilation}, {backward.grad()}); });
}

}  // namespace op

Value unfold(const Value& x, Dim dim, std::int64_t size, std::int64_t step, std::int64_t dilation) {
  return emit(op::Unfold{wrap_dim("unfold", dim, x.rank()), size, step, dilation}, {x});
}

Value fold(const Value& windows, Dim dim, std::int64_t length, std::int64_t step, std::int64_t dilation) {
  return emit(op::Fold{wrap_dim("fold", dim, windows.rank() - 1), length, step, dilation}, {windows});
}

Value reshape(const Value& x, Shape shape) {
  int open = -1;
  std::int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] != -1) {
      require<ShapeError>(shape[i] >= 0, "reshape: ", shape, " has a negative size");
      if (__builtin_mul_overflow(known, shape[i], &known)) known = 0;  // infer reports the mismatch
      continue;
    }
    require<ShapeError>(open < 0, "reshape: ", shape, " leaves more than one size open");
    open = i;
  }
  if (open >= 0) {
    require<ShapeError>(known > 0 && x.numel() % known == 0, "reshape: ", x, " has ", x.numel(), " elements, which ",
                        shape, " cannot hold");
    shape[open] = x.numel() / known;
  }
  return shape == x.shape() ? x : emit(op::Reshape{shape}, {x});
}

Value another_view(const Value& x, const Device& device) { return emit(device, op::Reshape{x.shape()}, {x}); }

Value flatten(const Value& x, Dim first, Dim last) {
  if (x.rank() == 0) return reshape(x, {1});
  const int from = wrap_dim("flatten", first, x.rank()), to = wrap_dim("flatten", last, x.rank());
  require<ArgumentError>(from <= to, "flatten: dimension ", first, " comes after ", last, " in ", x);
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i > from && i <= to) shape.back() = multiply_sizes("flatten", shape.back(), x.shape()[i]);
    else shape.push_back(x.shape()[i]);
  }
  return reshape(x, shape);
}

Value unsqueeze(const Value& x, Dim dim) {
  Shape shape = x.shape();
  shape.insert(wrap_dim("unsqueeze", dim, x.rank() + 1), 1);
  return reshape(x, shape);
}

Value squeeze(const Value& x, Dim dim) {
  if (is_point("squeeze", x, dim)) return x;
  const int at = wrap_dim("squeeze", dim, x.rank());
  Shape shape = x.shape();
  require<ShapeError>(shape[at] == 1, "squeeze: dimension ", dim, " of ", x, " has size ", shape[at], ", not 1");
  shape.erase(at);
  return reshape(x, shape);
}

Value permute(const Value& x, const Dims& dims) {
  Dims wrapped;
  bool same = true;
  for (const auto dim : dims) {
    wrapped.push_back(wrap_dim("permute", dim, x.rank()));
    same &= wrapped.back() == wrapped.size() - 1;
  }
  return same && wrapped.size() == x.rank() ? x : emit(op::Permute{wrapped}, {x});
}

Value transpose(const Value& x, Dim dim1, Dim dim2) {
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) dims.push_back(i);
  std::swap(dims[wrap_dim("transpose", dim1, x.rank())], dims[wrap_dim("transpose", dim2, x.rank())]);
  return permute(x, dims);
}

Value expand(const Value& x, const Shape& shape) { return shape == x.shape() ? x : emit(op::Expand{shape}, {x}); }

Value flip(const Value& x, const Dims& dims) {
  if (dims.size() == 1 && is_point("flip", x, dims[0])) return x;
  op::Slice op{Dims::filled(x.rank(), 0), Dims::filled(x.rank(), 1), x.shape()};
  for (const auto dim : dims) {
    const int at = wrap_dim("flip", dim, x.rank());
    require<ArgumentError>(op.step[at] == 1, "flip: dimension ", dim, " is named twice");
    op.step[at] = -1;
    op.begin[at] = std::max<std::int64_t>(x.shape()[at] - 1, 0);
  }
  return emit(op, {x});
}

namespace {

/// Python's rules for range.from : range.to : range.step on a dimension of `size` elements.
void resolve(const Range& range, std::int64_t size, std::int64_t& begin, std::int64_t& step, std::int64_t& count) {
  step = range.step;
  require<ArgumentError>(step != 0, "slice: the step is 0");
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto place = [&](std::int64_t end) { return std::clamp(end < 0 ? end + size : end, lowest, highest); };
  begin = range.from ? place(*range.from) : (step > 0 ? lowest : highest);
  const std::int64_t end = range.to ? place(*range.to) : (step > 0 ? highest : lowest);
  const std::int64_t distance = step > 0 ? end - begin : begin - end;
  // Unsigned, so that the most negative step has a magnitude too.
  const std::uint64_t pace = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  count = distance <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / pace) + 1;
  if (count <= 1) step = 1;
  if (count == 0) begin = 0;
}

op::Slice resolve(std::string_view op, const Value& x, std::span<const Range> ranges) {
  require<ShapeError>(static_cast<int>(ranges.size()) <= x.rank(), op, ": ", ranges.size(), " ranges for ", x);
  op::Slice slice{Dims::filled(x.rank(), 0), Dims::filled(x.rank(), 1), x.shape()};
  for (int i = 0; i < static_cast<int>(ranges.size()); ++i)
    resolve(ranges[static_cast<std::size_t>(i)], x.shape()[i], slice.begin[i], slice.step[i], slice.size[i]);
  return slice;
}

bool is_whole(const op::Slice& slice, const Shape& shape) {
  return slice.size == shape && std::all_of(slice.step.begin(), slice.step.end(), [](auto step) { return step == 1; });
}

}  // namespace

Value slice(const Value& x, std::span<const Range> ranges) {
  const op::Slice op = resolve("slice", x, ranges);
  return is_whole(op, x.shape()) ? x : emit(op, {x});
}

Value narrow(const Value& x, Dim dim, std::int64_t start, std::int64_t count) {
  const CalledAs named("narrow");
  const int at = wrap_dim("narrow", dim, x.rank());
  const std::int64_t size = x.shape()[at];
  require<IndexError>(start >= 0 && count >= 0 && start <= size && count <= size - start, "narrow: ", count,
                      " elements from ", start, " leave dimension ", at, " of size ", size);
  op::Slice op{Dims::filled(x.rank(), 0), Dims::filled(x.rank(), 1), x.shape()};
  op.begin[at] = count == 0 ? 0 : start;
  op.size[at] = count;
  return is_whole(op, x.shape()) ? x : emit(op, {x});
}

Value at(const Value& x, Dim dim, std::int64_t index) {
  const CalledAs named("at");
  const int axis = wrap_dim("slice", dim, x.rank());
  const std::int64_t size = x.shape()[axis];
  require<IndexError>(index >= -size && index < size, "slice: index ", index, " is out of range for dimension ", axis,
                      " of size ", size);
  return squeeze(narrow(x, axis, index < 0 ? index + size : index, 1), axis);
}

Value slice_assign(const Value& x, std::span<const Range> ranges, const Value& value) {
  const op::Slice op = resolve("slice_assign", x, ranges);
  require<DTypeError>(value && (value.is_scalar() || value.dtype() == x.dtype()), "slice_assign: ", value,
                      " cannot be assigned into ", x);
  const Value part = value.is_scalar() ? full(op.size, value.scalar(), x.device(), x.dtype()) : expand(value, op.size);
  return emit(op::SliceAssign{op.begin, op.step}, {x, part});
}

}  // namespace kiln
