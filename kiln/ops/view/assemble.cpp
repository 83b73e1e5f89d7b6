#include "kiln/ops/view/assemble.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {

// ---- side by side --------------------------------------------------------------------------------------------------

namespace {

Value at_least_two(const Value& x) { return x.rank() == 0 ? reshape(x, {1, 1}) : x.rank() == 1 ? unsqueeze(x, 0) : x; }

}  // namespace

Value hstack(Inputs parts) {
  require<ArgumentError>(!parts.empty(), "hstack: needs at least one tensor");
  Values raised;
  for (const Value& part : parts) raised.push_back(part.rank() == 0 ? reshape(part, {1}) : part);
  return cat(raised, raised[0].rank() == 1 ? 0 : 1);
}

Value vstack(Inputs parts) {
  require<ArgumentError>(!parts.empty(), "vstack: needs at least one tensor");
  Values raised;
  for (const Value& part : parts) raised.push_back(at_least_two(part));
  return cat(raised, 0);
}

Value dstack(Inputs parts) {
  require<ArgumentError>(!parts.empty(), "dstack: needs at least one tensor");
  Values raised;
  for (const Value& part : parts) {
    const Value matrix = at_least_two(part);
    raised.push_back(matrix.rank() == 2 ? unsqueeze(matrix, 2) : matrix);
  }
  return cat(raised, 2);
}

Value block_diag(Inputs parts) {
  require<ArgumentError>(!parts.empty(), "block_diag: needs at least one matrix");
  std::int64_t width = 0, start = 0;
  for (const Value& part : parts) {
    require<ShapeError>(part.rank() == 2, "block_diag: needs matrices, got ", part);
    width = add_sizes("block_diag", width, part.dim(1));
  }
  Values rows;
  for (const Value& part : parts) {
    rows.push_back(pad(part, {0, start}, {0, width - start - part.dim(1)}));
    start += part.dim(1);
  }
  return cat(rows, 0);
}

// ---- padding -------------------------------------------------------------------------------------------------------

namespace {

/// Returns `count` elements that continue x before the beginning (or after the end) of `dim`.
Value margin(const Value& x, int dim, std::int64_t count, PadMode mode, bool at_end) {
  const std::int64_t size = x.dim(dim);
  switch (mode) {
    case PadMode::Reflect:
      require<ArgumentError>(count < size, "pad: cannot reflect ", count, " elements of the ", size, " of dimension ",
                             dim);
      return flip(narrow(x, dim, at_end ? size - 1 - count : 1, count), {dim});
    case PadMode::Edge: {
      require<ArgumentError>(size > 0, "pad: dimension ", dim, " of ", x, " has no edge");
      Shape shape = x.shape();
      shape[dim] = count;
      return expand(narrow(x, dim, at_end ? size - 1 : 0, 1), shape);
    }
    case PadMode::Circular:
      require<ArgumentError>(count <= size, "pad: cannot wrap around ", count, " elements of the ", size,
                             " of dimension ", dim);
      return narrow(x, dim, at_end ? 0 : size - count, count);
    case PadMode::Constant: break;
  }
  return {};
}

}  // namespace

Value pad(const Value& x, const Dims& before, const Dims& after, PadMode mode) {
  if (mode == PadMode::Constant) return pad(x, before, after, 0);
  require<ShapeError>(before.size() == x.rank() && after.size() == x.rank(), "pad: ", before, " and ", after,
                      " do not have one entry for each dimension of ", x);
  const auto negative = [&](Dims dims) {
    for (auto& count : dims) count = std::min<std::int64_t>(count, 0);
    return dims;
  };
  Value result = pad(x, negative(before), negative(after), 0);
  for (int i = 0; i < x.rank(); ++i) {
    if (before[i] <= 0 && after[i] <= 0) continue;
    Values parts;
    if (before[i] > 0) parts.push_back(margin(result, i, before[i], mode, false));
    parts.push_back(result);
    if (after[i] > 0) parts.push_back(margin(result, i, after[i], mode, true));
    result = cat(parts, i);
  }
  return result;
}

// ---- grids ---------------------------------------------------------------------------------------------------------

Values meshgrid(Inputs vectors, GridOrder order) {
  Shape shape;
  for (const Value& vector : vectors) {
    op::require_tensor("meshgrid", vector);
    require<ShapeError>(vector.rank() == 1, "meshgrid: needs vectors, got ", vector);
    shape.push_back(vector.numel());
  }
  Values grids;
  for (int i = 0; i < shape.size(); ++i) {
    Shape alone = Shape::filled(shape.size(), 1);
    alone[i] = shape[i];
    const Value grid = expand(reshape(vectors[static_cast<std::size_t>(i)], alone), shape);
    grids.push_back(order == GridOrder::XY && shape.size() >= 2 ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

Value meshgrid_stack(Inputs vectors, GridOrder order) { return stack(meshgrid(vectors, order), -1); }

Value cartesian_grid(const Shape& shape, const Device& device) {
  require<ArgumentError>(!shape.empty(), "cartesian_grid: the shape has no dimensions");
  numel(shape);  // throws where it is impossible
  Values vectors;
  for (const auto size : shape) vectors.push_back(arange(0, size, 1, device));
  return meshgrid_stack(vectors);
}

Value cartesian_prod(Inputs vectors) {
  const Value grid = meshgrid_stack(vectors);
  const auto width = static_cast<std::int64_t>(vectors.size());
  return reshape(grid, {grid.numel() / width, width});
}

Value combinations(const Value& x, std::int64_t count, bool again) {
  require<ShapeError>(x.rank() == 1, "combinations: needs a vector, got ", x);
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // numbers; more is taken as a mistake
  require<ArgumentError>(1 <= count && count < kMost, "combinations: of ", count, " elements");
  // There are as many choices as choices without repetition from this many elements.
  const std::int64_t size = x.numel();
  const std::int64_t from = again && size > 0 ? add_sizes("combinations", size, count - 1) : size;
  if (from < count) return select(x, 0, zeros({0, count}, x.device(), DType::I64));
  const auto few = static_cast<double>(std::min(count, from - count));
  double choices = 1;
  for (double i = 1; i <= few && choices < kMost; ++i) choices = choices * (static_cast<double>(from) - few + i) / i;
  require<ArgumentError>(choices * static_cast<double>(count) < kMost, "combinations: of ", count, " of ", size,
                         " elements there are more than 2^31 numbers");
  std::vector<std::int64_t> places, choice(static_cast<std::size_t>(count), 0);
  if (!again) std::iota(choice.begin(), choice.end(), std::int64_t{0});
  for (;;) {
    places.insert(places.end(), choice.begin(), choice.end());
    // The last position that can still advance; the positions after it follow as closely as allowed.
    std::int64_t at = count - 1;
    const auto last = [&](std::int64_t i) { return again ? size - 1 : size - count + i; };
    while (at >= 0 && choice[static_cast<std::size_t>(at)] == last(at)) --at;
    if (at < 0) break;
    std::int64_t next = ++choice[static_cast<std::size_t>(at)];
    while (++at < count) choice[static_cast<std::size_t>(at)] = again ? next : ++next;
  }
  const Shape shape{static_cast<std::int64_t>(places.size()) / count, count};
  return select(x, 0, from_data(TensorData::of<std::int64_t>(shape, places), x.device()));
}

}  // namespace kiln
