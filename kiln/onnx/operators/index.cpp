// Reading and writing by index.
#include "kiln/ops/index/index.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/core/size.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"
#include "kiln/ops/reduce/unique.hpp"
#include "kiln/ops/view/assemble.hpp"

namespace kiln::onnx {
namespace {

// Indices below zero count from the end.
Value wrapped(const Value& index, std::int64_t size) {
  const Value whole = of_type(index, DType::I64);
  return where(lt(whole, 0), whole + size, whole);
}

Results gather_slices(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", 0), x.rank());
  return c.like(0, select(x, axis, wrapped(c[1], x.dim(axis))));
}

Results gather_elements(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", 0), x.rank());
  return c.like(0, gather(x, axis, wrapped(c[1], x.dim(axis))));
}

Results gather_by_tuples(Call& c) {
  const Value &x = c[0], index = of_type(c[1], DType::I64);
  const auto batch = static_cast<int>(c.i("batch_dims", 0));
  c.check(batch >= 0 && batch < std::min(x.rank(), index.rank()), "batch_dims is ", batch, " for ", x.shape(), " and ",
          index.shape());
  if (batch == 0) return c.like(0, gather_nd(x, index));
  // Each tuple names its place in the batch as well.
  Shape sizes(index.shape().begin(), index.shape().begin() + batch);
  Shape spread = sizes, full_shape = index.shape();
  for (int d = batch; d < index.rank() - 1; ++d) spread.push_back(1);
  spread.push_back(batch);
  full_shape.back() = batch;
  const Value places = expand(reshape(cartesian_grid(sizes, c.device()), spread), full_shape);
  const Value both[] = {places, index};
  return c.like(0, gather_nd(x, cat(both, -1)));
}

Update update_of(const Call& c) {
  const std::string how = c.word("reduction", "none", {"none", "add", "mul", "max", "min"});
  if (how == "add") return Update::Add;
  if (how == "mul") return Update::Mul;
  if (how == "max") return Update::Max;
  if (how == "min") return Update::Min;
  return Update::Assign;
}

Results scatter_elements(Call& c) {
  const std::vector<Datum> both = with_one_list({c.datum(0), c.datum(2)});
  const Value& x = both[0].value();
  const int axis = c.dim(c.i("axis", 0), x.rank());
  return both[0].like(scatter(x, axis, wrapped(c[1], x.dim(axis)), both[1].value(), update_of(c)));
}

Results scatter_by_tuples(Call& c) {
  const std::vector<Datum> both = with_one_list({c.datum(0), c.datum(2)});
  return both[0].like(scatter_nd(both[0].value(), of_type(c[1], DType::I64), both[1].value(), update_of(c)));
}

Results compress(Call& c) {
  Value x = c[0];
  const int axis = c.given("axis") ? c.dim(c.i("axis", 0), x.rank()) : 0;
  if (!c.given("axis")) x = reshape(x, {x.numel()});
  const TensorData condition = c[1].data();
  Ints kept;
  for (std::int64_t i = 0; i < condition.numel(); ++i)
    if (condition.at(i) != 0) kept.push_back(i);
  return c.like(0, select(x, axis, from_ints(kept, c.device())));
}

Results non_zero(Call& c) { return transpose(argwhere(c[0]), 0, 1); }

Results one_hot_of(Call& c) {
  const Value index = of_type(c[0], DType::I64);
  const double depth = c.number(1);
  c.check(depth >= 1 && depth < 1e15, "depth is ", depth);
  const auto classes = static_cast<std::int64_t>(depth);
  const int rank = index.rank() + 1, axis = c.dim(c.i("axis", -1), rank);
  const Value hot = eq(unsqueeze(wrapped(index, classes), axis), counted(classes, axis, rank, c.device()));
  const Value off = narrow(c[2], 0, 0, 1), on = narrow(c[2], 0, 1, 1);
  return c.like(2, where(hot, on, off));
}

Results reverse_sequence(Call& c) {
  const Value& x = c[0];
  const Ints lengths = c.ints(1);
  const int batch = c.dim(c.i("batch_axis", 1), x.rank()), time = c.dim(c.i("time_axis", 0), x.rank());
  c.check(batch != time && static_cast<std::int64_t>(lengths.size()) == x.dim(batch), lengths.size(), " lengths for ",
          x.shape());
  const std::int64_t steps = x.dim(time), rows = x.dim(batch);
  c.check_room(multiply_sizes("ReverseSequence", steps, rows), 2 * sizeof(std::int64_t));
  Ints places;
  for (const std::int64_t length : lengths) {
    c.check(length >= 0 && length <= steps, "a length is ", length, " of ", steps);
    for (std::int64_t t = 0; t < steps; ++t) places.push_back(t < length ? length - 1 - t : t);
  }
  Shape shape = Shape::filled(x.rank(), 1);
  shape[batch] = rows;
  shape[time] = steps;
  const Value table = reshape(from_ints(places, c.device()), {rows, steps});
  const Value index = reshape(batch < time ? table : transpose(table, 0, 1), shape);
  return c.like(0, gather(x, time, expand(index, x.shape())));
}

Results tensor_scatter(Call& c) {
  const Value &cache = c[0], &update = c[1];
  const int axis = c.dim(c.i("axis", -2), cache.rank());
  const std::int64_t most = cache.dim(axis), count = update.dim(axis), rows = cache.dim(0);
  const bool circular = c.s("mode", "linear") == "circular";
  Ints starts = c.ints(2);
  if (starts.empty()) starts.assign(static_cast<std::size_t>(rows), 0);
  c.check(axis > 0 && static_cast<std::int64_t>(starts.size()) == rows, starts.size(), " write indices for ",
          cache.shape());
  c.check_room(multiply_sizes("TensorScatter", rows, count), 2 * sizeof(std::int64_t));
  Ints places;
  for (const std::int64_t start : starts)
    for (std::int64_t t = 0; t < count; ++t) {
      c.check(start >= 0 && start < most, "index ", start, " is outside of a cache of ", most);
      const std::int64_t place = circular ? (start + t) % most : start + t;
      c.check(place < most, "index ", place, " is outside of a cache of ", most);
      places.push_back(place);
    }
  Shape shape = Shape::filled(cache.rank(), 1);
  shape[0] = rows;
  shape[axis] = count;
  const Value index = expand(reshape(from_ints(places, c.device()), shape), update.shape());
  return c.like(0, scatter(cache, axis, index, update));
}

Results distinct(Call& c) {
  const Datum& x = c.datum(0);
  Value values = x.value();
  Strings words;
  if (x.is_string())
    values = from_data(TensorData::of<std::int64_t>(values.shape(), ranks_of(x.strings(), words)), c.device());
  const bool by_slices = c.given("axis");
  const int axis = by_slices ? c.dim(c.i("axis", 0), values.rank()) : 0;
  if (!by_slices) values = reshape(values, {values.numel()});
  const bool is_bool = values.dtype() == DType::Bool;
  const Value numbers = is_bool ? cast(values, DType::U8) : values;
  const Distinct found = by_slices ? unique(numbers, axis) : unique(numbers);
  Ints inverse = reshape(found.inverse, {found.inverse.numel()}).data().to_vector<std::int64_t>();
  Ints counts = found.counts.data().to_vector<std::int64_t>();
  Ints first(counts.size(), -1), order(counts.size());
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    std::int64_t& place = first[static_cast<std::size_t>(inverse[i])];
    if (place < 0) place = static_cast<std::int64_t>(i);
  }
  std::iota(order.begin(), order.end(), 0);
  const auto at = [](const Ints& list, std::int64_t i) { return list[static_cast<std::size_t>(i)]; };
  if (!c.i("sorted", 1))
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return at(first, a) < at(first, b); });
  Ints place_of(order.size()), firsts, sizes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    firsts.push_back(at(first, order[i]));
    sizes.push_back(at(counts, order[i]));
  }
  for (std::int64_t& i : inverse) i = at(place_of, i);
  const Value chosen = of_type(select(found.values, axis, from_ints(order, c.device())), values.dtype());
  const Datum result = x.is_string() ? Datum(chosen, std::make_shared<Strings>(words)) : Datum(chosen, x.element());
  return {result, from_ints(firsts, c.device()), from_ints(inverse, c.device()), from_ints(sizes, c.device())};
}

constexpr OperatorRow kIndexRows[] = {
    {"Compress", 9, compress},
    {"Gather", 1, gather_slices, {.shape = shape_rules::gather, .numbers = number_rules::gather}},
    {"GatherElements", 11, gather_elements},
    {"GatherND", 11, gather_by_tuples, {.rank = ResultRank::OfData}},
    {"NonZero", 9, non_zero},
    {"OneHot", 9, one_hot_of, {.folds = false}},
    {"ReverseSequence", 10, reverse_sequence},
    {"Scatter", 9, scatter_elements, {.until = 10}},
    {"ScatterElements", 11, scatter_elements, {.kind = OperatorKind::SameShape}},
    {"ScatterND", 11, scatter_by_tuples, {.kind = OperatorKind::SameShape}},
    {"TensorScatter", 24, tensor_scatter},
    {"Unique", 11, distinct},
};

}  // namespace

std::span<const OperatorRow> index_rows() { return kIndexRows; }

}  // namespace kiln::onnx
