// Operators that move elements: shapes, slices, joins, blocks. They take elements of any type, strings included.
#include "kiln/ops/view/view.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln::onnx {
namespace {

Results identity(Call& c) { return c.in.empty() ? Datum() : c.in[0]; }

// ---- shapes -------------------------------------------------------------------------------------------------------
Results reshape_to(Call& c) {
  const Value& x = c[0];
  Ints sizes = c.version() < 5 ? c.ints("shape") : c.ints(1);
  const bool zeros_stay = c.i("allowzero", 0) != 0;
  c.check(sizes.size() <= kMaxRank, "a shape of ", sizes.size(), " dimensions; Kiln's tensors have at most ", kMaxRank);
  std::int64_t known = 1;
  int open = -1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0 && !zeros_stay) {
      c.check(static_cast<int>(d) < x.rank(), "size 0 of dimension ", d, " stands for that of the operand, ",
              x.shape());
      sizes[d] = x.dim(static_cast<int>(d));
    }
    if (sizes[d] == -1) {
      c.check(open < 0, "more than one size is -1 in ", to_shape(sizes));
      open = static_cast<int>(d);
    } else {
      c.check(sizes[d] >= 0 && !__builtin_mul_overflow(known, sizes[d], &known), "no shape is ", to_shape(sizes));
    }
  }
  if (open >= 0) {
    c.check(known > 0 ? x.numel() % known == 0 : x.numel() == 0, x.shape(), " does not become ", to_shape(sizes));
    sizes[static_cast<std::size_t>(open)] = known > 0 ? x.numel() / known : 0;
  }
  return c.like(0, reshape(x, to_shape(sizes)));
}

Results flatten_to_matrix(Call& c) {
  const Value& x = c[0];
  std::int64_t axis = c.i("axis", 1);
  if (axis < 0) axis += x.rank();
  c.check(axis >= 0 && axis <= x.rank(), "axis ", axis, " is out of range for rank ", x.rank());
  std::int64_t rows = 1, columns = 1;
  for (int d = 0; d < x.rank(); ++d) {
    std::int64_t& side = d < axis ? rows : columns;
    side = multiply_sizes("Flatten", side, x.dim(d));
  }
  return c.like(0, reshape(x, {rows, columns}));
}

Results squeeze_dims(Call& c) {
  const Value& x = c[0];
  const Ints axes = c.version() < 13 ? c.ints("axes") : c.ints(1);
  std::vector<bool> gone(static_cast<std::size_t>(x.rank()));
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(c.dim(axis, x.rank()))] = true;
  Shape shape;
  for (int d = 0; d < x.rank(); ++d) {
    const bool drop = axes.empty() ? x.dim(d) == 1 : gone[static_cast<std::size_t>(d)];
    c.check(!drop || x.dim(d) == 1, "dimension ", d, " of ", x.shape(), " does not have the size 1");
    if (!drop) shape.push_back(x.dim(d));
  }
  return c.like(0, reshape(x, shape));
}

Results unsqueeze_dims(Call& c) {
  const Value& x = c[0];
  const Ints axes = c.version() < 13 ? c.ints("axes") : c.ints(1);
  const int rank = x.rank() + static_cast<int>(axes.size());
  c.check(axes.size() <= kMaxRank && rank <= kMaxRank, "the result would have ", rank, " dimensions");
  std::vector<bool> fresh(static_cast<std::size_t>(rank));
  for (const std::int64_t axis : axes) {
    const auto place = static_cast<std::size_t>(c.dim(axis, rank));
    c.check(!fresh[place], "axis ", axis, " occurs twice");
    fresh[place] = true;
  }
  Shape shape;
  for (int d = 0, from = 0; d < rank; ++d) shape.push_back(fresh[static_cast<std::size_t>(d)] ? 1 : x.dim(from++));
  return c.like(0, reshape(x, shape));
}

Results transpose_dims(Call& c) {
  const Value& x = c[0];
  Ints order = c.ints("perm");
  if (order.empty())
    for (int d = x.rank(); d-- > 0;) order.push_back(d);
  c.check(static_cast<int>(order.size()) == x.rank(), "perm has ", order.size(), " entries for ", x.shape());
  return c.like(0, permute(x, to_dims(order)));
}

Results shape_of(Call& c) {
  const Shape& shape = c[0].shape();
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + shape.size() : at, 0, shape.size());
  };
  const std::int64_t from = place(c.i("start", 0)), to = place(c.i("end", shape.size()));
  return from_ints(from < to ? Ints(shape.begin() + from, shape.begin() + to) : Ints(), c.device());
}

Results size_of_all(Call& c) { return from_data(TensorData::of<std::int64_t>({}, {c[0].numel()}), c.device()); }

Results expand_to(Call& c) {
  const Value& x = c[0];
  return c.like(0, expand(x, broadcast("Expand", x.shape(), to_shape(c.ints(1)))));
}

Results tile_of(Call& c) {
  const Value& x = c[0];
  if (c.version() >= 6) return c.like(0, repeat(x, to_dims(c.ints(1))));
  Dims times = Dims::filled(x.rank(), 1);
  times[c.dim(c.integer(2), x.rank())] = c.integer(1);
  return c.like(0, repeat(x, times));
}

// ---- joins and cuts -----------------------------------------------------------------------------------------------
Results concat(Call& c) {
  const std::vector<Datum> parts = with_one_list(c.in);
  c.check(!parts.empty(), "there is nothing to join");
  Values values;
  for (const Datum& part : parts) values.push_back(part.value());
  return parts[0].like(cat(values, c.dim(c.i("axis", 1), values[0].rank())));
}

Results split_parts(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", 0), x.rank());
  Ints sizes = c.version() >= 13 ? c.ints(1) : c.ints("split");
  if (c.version() < 2 && c.has(1)) sizes = of_type(c[1], DType::I64).data().to_vector<std::int64_t>();  // are like x
  if (sizes.empty()) {
    const auto wanted = static_cast<std::int64_t>(c.node.outputs.size());  // the rest nobody reads
    const std::int64_t parts = c.i("num_outputs", wanted);
    c.check(parts >= wanted, "num_outputs is ", parts, " of a node with ", wanted);
    const std::int64_t size = x.dim(axis) / parts + (x.dim(axis) % parts != 0);
    std::vector<Datum> even;
    for (std::int64_t i = 0; i < wanted; ++i) {
      const std::int64_t from = std::min(i * size, x.dim(axis));
      even.push_back(c.like(0, narrow(x, axis, from, std::min(size, x.dim(axis) - from))));
    }
    return Results(std::move(even));
  }
  std::int64_t at = 0;
  std::vector<Datum> parts;
  for (const std::int64_t size : sizes) {
    parts.push_back(c.like(0, narrow(x, axis, at, size)));
    at += size;
  }
  c.check(at == x.dim(axis), "the parts have ", at, " elements of dimension ", axis, " of ", x.shape());
  return Results(std::move(parts));
}

// Python's slice: what lies outside is cut off, before the first element where it goes backwards.
Range range_of(std::int64_t from, std::int64_t to, std::int64_t step, std::int64_t size) {
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto place = [&](std::int64_t at) {
    return std::clamp(at < 0 && at >= -size ? at + size : at < 0 ? low : at, low, high);
  };
  from = place(from), to = place(to);
  if (step > 0 ? from >= to : from <= to) return {0, 0, 1};
  return {from, to < 0 ? std::optional<std::int64_t>() : to, step};
}

Results slice_dims(Call& c) {
  const Value& x = c[0];
  const bool old = c.version() < 10;
  const Ints starts = old ? c.ints("starts") : c.ints(1), ends = old ? c.ints("ends") : c.ints(2);
  Ints axes = old ? c.ints("axes") : c.ints(3), steps = old ? Ints() : c.ints(4);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  c.check(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(), starts.size(),
          " starts, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(), " steps");
  std::vector<Range> ranges(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    c.check(steps[i] != 0, "a step is 0");
    const int axis = c.dim(axes[i], x.rank());
    ranges[static_cast<std::size_t>(axis)] = range_of(starts[i], ends[i], steps[i], x.dim(axis));
  }
  return c.like(0, slice(x, ranges));
}

// ---- blocks -------------------------------------------------------------------------------------------------------
Results depth_to_space(Call& c) {
  const Value& x = c[0];
  const std::int64_t block = c.i("blocksize", 0);
  const std::string mode = c.s("mode", "DCR");
  c.check(x.rank() == 4 && block > 0 && block < (1 << 15) && x.dim(1) % (block * block) == 0, "a block of ", block,
          " does not fit ", x.shape());
  const std::int64_t n = x.dim(0), depth = x.dim(1) / (block * block), h = x.dim(2), w = x.dim(3);
  const Value parts = mode == "CRD" ? permute(reshape(x, {n, depth, block, block, h, w}), {0, 1, 4, 2, 5, 3})
                                    : permute(reshape(x, {n, block, block, depth, h, w}), {0, 3, 4, 1, 5, 2});
  return c.like(0, reshape(parts, {n, depth, multiply_sizes("DepthToSpace", h, block),
                                   multiply_sizes("DepthToSpace", w, block)}));
}

Results space_to_depth(Call& c) {
  const Value& x = c[0];
  const std::int64_t block = c.i("blocksize", 0);
  c.check(x.rank() == 4 && block > 0 && x.dim(2) % block == 0 && x.dim(3) % block == 0, "a block of ", block,
          " does not fit ", x.shape());
  const std::int64_t n = x.dim(0), depth = x.dim(1), h = x.dim(2) / block, w = x.dim(3) / block;
  const Value parts = reshape(x, {n, depth, h, block, w, block});
  const Dims order = c.s("mode", "DCR") == "CRD" ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4};
  const std::int64_t deep = multiply_sizes("SpaceToDepth", multiply_sizes("SpaceToDepth", depth, block), block);
  return c.like(0, reshape(permute(parts, order), {n, deep, h, w}));
}

Results trilu(Call& c) {
  const Value& x = c[0];
  c.check(x.rank() >= 2, "a matrix is needed, not ", x.shape());
  const std::int64_t k = c.has(1) ? c.integer(1) : 0;
  const Shape matrix{x.dim(-2), x.dim(-1)};
  const Value mask = c.i("upper", 1) ? triu_mask(matrix, c.device(), k) : tril_mask(matrix, c.device(), k);
  return of_type(where(mask, x, zeros_like(x)), x.dtype());
}

constexpr OperatorRow kViewRows[] = {
    {"Concat", 1, concat, {.shape = shape_rules::concat, .numbers = number_rules::concat}},
    {"DepthToSpace", 1, depth_to_space, {.kind = OperatorKind::Rearranged}},
    {"Expand", 8, expand_to, {.kind = OperatorKind::GivenShape, .shape = shape_rules::expand}},
    {"Flatten", 1, flatten_to_matrix, {.kind = OperatorKind::Rearranged}},
    {"Identity", 1, identity, traits_of(OperatorKind::SameShape, nullptr, number_rules::same)},
    {"Reshape", 1, reshape_to, traits_of(OperatorKind::GivenShape, shape_rules::reshape, number_rules::same)},
    {"Shape", 1, shape_of, {.shape = shape_rules::shape, .numbers = number_rules::shape}},
    {"Size", 1, size_of_all, {.shape = shape_rules::size}},
    {"Slice", 1, slice_dims, {.kind = OperatorKind::Rearranged, .numbers = number_rules::slice}},
    {"SpaceToDepth", 1, space_to_depth, {.kind = OperatorKind::Rearranged}},
    {"Split", 1, split_parts},
    {"Squeeze", 1, squeeze_dims,
     traits_of(OperatorKind::Rearranged, shape_rules::squeeze, number_rules::same, ResultRank::OfNumbers)},
    {"Tile", 1, tile_of, {.kind = OperatorKind::Rearranged, .folds = false}},
    {"Transpose", 1, transpose_dims, {.kind = OperatorKind::Rearranged, .shape = shape_rules::transpose}},
    {"Trilu", 14, trilu, {.kind = OperatorKind::SameShape}},
    {"Unsqueeze", 1, unsqueeze_dims,
     traits_of(OperatorKind::Rearranged, shape_rules::unsqueeze, number_rules::same, ResultRank::OfNumbers)},
};

}  // namespace

std::span<const OperatorRow> view_rows() { return kViewRows; }

}  // namespace kiln::onnx
