#include "kiln/ops/view/view.hpp"

#include <algorithm>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"

namespace kiln {
namespace {

/// Wraps negative dimensions and sorts them; throws where one is named twice.
Dims sorted_dims(std::string_view op, const Dims& dims, int rank) {
  Dims sorted;
  for (const auto dim : dims) sorted.push_back(wrap_dim(op, dim, rank));
  std::sort(sorted.begin(), sorted.end());
  for (int i = 1; i < sorted.size(); ++i)
    require<ArgumentError>(sorted[i] != sorted[i - 1], op, ": dimension ", sorted[i], " is named twice in ", dims);
  return sorted;
}

}  // namespace

// ---- dimensions ----------------------------------------------------------------------------------------------------

Value squeeze(const Value& x, const Dims& dims) {
  const Dims sorted = sorted_dims("squeeze", dims, x.rank());
  Value result = x;
  for (int i = sorted.size() - 1; i >= 0; --i) result = squeeze(result, static_cast<int>(sorted[i]));
  return result;
}

Value unsqueeze(const Value& x, const Dims& dims) {
  Shape shape = x.shape();
  for (const auto dim : sorted_dims("unsqueeze", dims, x.rank() + dims.size())) shape.insert(static_cast<int>(dim), 1);
  return reshape(x, shape);
}

Value movedim(const Value& x, const Dims& from, const Dims& to) {
  require<ArgumentError>(from.size() == to.size(), "movedim: ", from, " and ", to, " differ in length");
  sorted_dims("movedim", from, x.rank());
  sorted_dims("movedim", to, x.rank());
  Dims order = Dims::filled(x.rank(), -1);
  std::uint32_t placed = 0;
  for (int i = 0; i < from.size(); ++i) {
    const int source = wrap_dim("movedim", from[i], x.rank());
    order[wrap_dim("movedim", to[i], x.rank())] = source;
    placed |= 1u << source;
  }
  int next = 0;
  for (auto& dim : order) {
    if (dim >= 0) continue;
    while (placed >> next & 1u) ++next;
    dim = next++;
  }
  return permute(x, order);
}

Values broadcast_tensors(Inputs in) {
  Shape shape;
  for (const Value& x : in) {
    op::require_tensor("broadcast_tensors", x);
    shape = broadcast("broadcast_tensors", shape, x.shape());
  }
  Values result;
  for (const Value& x : in) result.push_back(expand(x, shape));
  return result;
}

// ---- rolled and flipped --------------------------------------------------------------------------------------------

Value roll(const Value& x, std::int64_t shift, Dim dim) {
  dim = wrap_dim("roll", dim, x.rank());
  const std::int64_t size = x.dim(dim);
  if (size == 0) return x;
  const std::int64_t first = (size - shift % size) % size;
  if (first == 0) return x;
  return cat(Values{narrow(x, dim, first, size - first), narrow(x, dim, 0, first)}, dim);
}

Value roll(const Value& x, const Dims& shifts, const Dims& dims) {
  require<ArgumentError>(shifts.size() == dims.size(), "roll: ", shifts, " and ", dims, " differ in length");
  Value result = x;
  for (int i = 0; i < dims.size(); ++i) result = roll(result, shifts[i], wrap_dim("roll", dims[i], x.rank()));
  return result;
}

Value fliplr(const Value& x) { return flip(x, {wrap_dim("fliplr", 1, x.rank())}); }
Value flipud(const Value& x) { return flip(x, {wrap_dim("flipud", 0, x.rank())}); }

Value rot90(const Value& x, int times, Dim dim1, Dim dim2) {
  dim1 = wrap_dim("rot90", dim1, x.rank());
  dim2 = wrap_dim("rot90", dim2, x.rank());
  require<ArgumentError>(dim1 != dim2, "rot90: a plane needs two dimensions, got ", dim1, " twice");
  switch (((times % 4) + 4) % 4) {
    case 1: return flip(transpose(x, dim1, dim2), {dim1});
    case 2: return flip(x, {dim1, dim2});
    case 3: return flip(transpose(x, dim1, dim2), {dim2});
    default: return x;
  }
}

// ---- repeated ------------------------------------------------------------------------------------------------------

Value repeat(const Value& x, const Dims& times) {
  require<ShapeError>(times.size() == x.rank(), "repeat: ", times, " has ", times.size(), " entries for ", x);
  for (const auto count : times) require<ArgumentError>(count >= 0, "repeat: ", times, " has a negative count");
  // Each repetition broadcasts a new dimension, one at a time so that the rank stays within its limit.
  Value result = x;
  for (int i = 0; i < times.size(); ++i) {
    if (times[i] == 1) continue;
    Shape tiled = result.shape(), merged = result.shape();
    tiled.insert(i, times[i]);
    merged[i] = multiply_sizes("repeat", merged[i], times[i]);
    result = reshape(expand(unsqueeze(result, i), tiled), merged);
  }
  return result;
}

Value tile(const Value& x, const Dims& times) {
  Dims counts = times;
  Shape shape = x.shape();
  while (counts.size() < shape.size()) counts.insert(0, 1);
  while (shape.size() < counts.size()) shape.insert(0, 1);
  return repeat(reshape(x, shape), counts);
}

Value repeat_interleave(const Value& x, std::int64_t times, Dim dim) {
  const CalledAs named("repeat_interleave");
  dim = wrap_dim("repeat_interleave", dim, x.rank());
  require<ArgumentError>(times >= 0, "repeat_interleave: ", times, " times");
  if (times == 1) return x;
  Shape repeated = x.shape(), merged = x.shape();
  repeated.insert(dim + 1, times);
  merged[dim] = multiply_sizes("repeat_interleave", merged[dim], times);
  return reshape(expand(unsqueeze(x, dim + 1), repeated), merged);
}

Value repeat_interleave(const Value& x, const Value& times, Dim dim) {
  const CalledAs named("repeat_interleave");
  dim = wrap_dim("repeat_interleave", dim, x.rank());
  if (times.is_scalar()) return repeat_interleave(x, times.scalar().to<std::int64_t>(), dim);
  op::require_index("repeat_interleave", times);
  require<ShapeError>(times.shape() == Shape{x.dim(dim)}, "repeat_interleave: counts ", times.shape(),
                      " do not have one entry for each of the ", x.dim(dim), " slices of dimension ", dim);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const std::vector<std::int64_t> counts = times.data().to_vector<std::int64_t>();
  std::int64_t total = 0;
  for (const auto count : counts) {
    require<ArgumentError>(0 <= count && count <= kMost - total, "repeat_interleave: ", count, " times");
    total += count;
  }
  TensorData places({total}, DType::I64);
  std::int64_t* next = places.as<std::int64_t>().data();
  for (std::size_t i = 0; i < counts.size(); ++i) next = std::fill_n(next, counts[i], static_cast<std::int64_t>(i));
  return select(x, dim, from_data(std::move(places), x.device()));
}

// ---- cut -----------------------------------------------------------------------------------------------------------

Value slice_dim(const Value& x, Dim dim, const Range& range) {
  std::vector<Range> ranges(static_cast<std::size_t>(wrap_dim("slice_dim", dim, x.rank())) + 1);
  ranges.back() = range;
  return slice(x, ranges);
}

Value slice_fill(const Value& x, std::span<const Range> ranges, const Scalar& number) {
  return slice_assign(x, ranges, number);
}

Values chunk(const Value& x, std::int64_t parts, Dim dim) {
  require<ArgumentError>(parts >= 1, "chunk: the number of parts must be positive, got ", parts);
  const std::int64_t size = x.dim(wrap_dim("chunk", dim, x.rank()));
  return split(x, std::max<std::int64_t>(1, size / parts + (size % parts != 0)), dim);
}

Values split_with_sizes(const Value& x, const std::vector<std::int64_t>& sizes, Dim dim) {
  const std::int64_t size = x.dim(wrap_dim("split_with_sizes", dim, x.rank()));
  std::int64_t left = size;
  for (const auto part : sizes) {
    require<ArgumentError>(part >= 0, "split_with_sizes: a part of ", part, " elements");
    require<ShapeError>(part <= left, "split_with_sizes: the sizes add up to more than the ", size, " of dimension ",
                        dim);
    left -= part;
  }
  require<ShapeError>(left == 0, "split_with_sizes: the sizes add up to ", size - left, ", not the ", size,
                      " of dimension ", dim);
  Values parts;
  std::int64_t start = 0;
  for (const auto part : sizes) {
    parts.push_back(narrow(x, dim, start, part));
    start += part;
  }
  return parts;
}

Values tensor_split(const Value& x, std::int64_t parts, Dim dim) {
  require<ArgumentError>(parts >= 1, "tensor_split: the number of parts must be positive, got ", parts);
  const std::int64_t size = x.dim(wrap_dim("tensor_split", dim, x.rank()));
  Values result;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t count = size / parts + (i < size % parts);
    result.push_back(narrow(x, dim, start, count));
    start += count;
  }
  return result;
}

Values split_at(const Value& x, const std::vector<std::int64_t>& starts, Dim dim) {
  const std::int64_t size = x.dim(wrap_dim("split_at", dim, x.rank()));
  Values parts;
  std::int64_t start = 0;
  for (const auto next : starts) {
    require<IndexError>(start <= next && next <= size, "split_at: ", next, " does not lie between ", start, " and ",
                        size);
    parts.push_back(narrow(x, dim, start, next - start));
    start = next;
  }
  parts.push_back(narrow(x, dim, start, size - start));
  return parts;
}

Values unbind(const Value& x, Dim dim) {
  const int axis = wrap_dim("unbind", dim, x.rank());
  Values parts;
  for (std::int64_t i = 0; i < x.dim(axis); ++i) parts.push_back(at(x, axis, i));
  return parts;
}

}  // namespace kiln
