#include "kiln/ops/reduce/histogram.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/ops/reduce/order.hpp"

namespace kiln {
namespace {

Value flat(const Value& x) { return reshape(x, {x.numel()}); }

/// The weight of each element.
Value weight_of(std::string_view op, const Value& x, const Value& weights) {
  if (weights.empty()) return expand(ones({1}, x.device(), DType::I64), {x.numel()});
  require<ShapeError>(weights.shape() == x.shape(), op, ": weights ", weights.shape(), " must have the shape of ", x);
  return flat(weights);
}

/// The sum of the weights of each index in [0, size).
Value add_up(const Value& index, const Value& weights, std::int64_t size) {
  return scatter_add(zeros({size}, index.device(), weights.dtype()), 0, index, weights);
}

/// bins + 1 edges from `low` to `high`, numbers or tensors of rank 0.
Value equal_edges(std::string_view op, const Value& x, std::int64_t bins, const Value& low, const Value& high) {
  require<ArgumentError>(bins >= 1, op, ": ", bins, " bins");
  const DType dtype = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  const Value share = arange(0, add_sizes(op, bins, 1), 1, x.device(), DType::F64) / static_cast<double>(bins);
  return cast(low * (1 - share) + high * share, dtype);
}

Value edges_of_range(std::string_view op, const Value& x, std::int64_t bins) {
  require<ShapeError>(x.numel() > 0, op, ": ", x, " has no elements to take the range from");
  const Value all = cast(x.detach(), DType::F64), low = min(all), high = max(all), equal = eq(low, high);
  return equal_edges(op, x, bins, where(equal, low - 0.5, low), where(equal, high + 0.5, high));
}

Value edges_between(std::string_view op, const Value& x, std::int64_t bins, double low, double high) {
  require<ArgumentError>(low < high, op, ": the range from ", low, " to ", high, " is empty");
  return equal_edges(op, x, bins, low, high);
}

}  // namespace

Value bincount(const Value& x, const Value& weights, std::int64_t least) {
  require<DTypeError>(!x.empty() && is_integer(x.dtype()), "bincount: counts integers, got ", x);
  require<ArgumentError>(least >= 0, "bincount: at least ", least, " entries");
  std::int64_t size = least;
  if (x.numel() > 0) {
    const TensorData range = stack(Values{min(x), max(x)}, 0).data().to(DType::I64);
    const auto limits = range.as<std::int64_t>();
    require<ArgumentError>(limits[0] >= 0, "bincount: ", limits[0], " is negative");
    size = std::max(size, add_sizes("bincount", limits[1], 1));
  }
  return add_up(cast(flat(x), DType::I64), weight_of("bincount", x, weights), size);
}

HistogramValues histogram(const Value& x, const Value& edges, const HistogramOptions& options) {
  require<ShapeError>(edges.rank() == 1 && edges.numel() >= 2, "histogram: edges must be a list of two or more, got ",
                      edges);
  const std::int64_t bins = edges.numel() - 1;
  const Value line = flat(x.detach()), weights = weight_of("histogram", x, options.weights);
  // The weights of elements below all edges, in each bin, and at or above all edges.
  const Value all = add_up(searchsorted(edges.detach(), line, true), weights, bins + 2);
  const Value at_end = eq(line, at(edges.detach(), 0, -1));
  const Value more = options.weights.empty() ? sum(at_end) : sum(where(at_end, weights, 0));
  Value counts = cat(Values{narrow(all, 0, 1, bins - 1), narrow(all, 0, bins, 1) + cast(more, all.dtype())}, 0);
  if (options.density) {
    const Value widths = narrow(edges, 0, 1, bins) - narrow(edges, 0, 0, bins);
    // A quotient of integers would be float32.
    if (widths.dtype() == DType::F64) counts = cast(counts, DType::F64);
    counts = counts / sum(counts) / widths;
  }
  return {counts, edges};
}

HistogramValues histogram(const Value& x, std::int64_t bins, double low, double high, const HistogramOptions& options) {
  return histogram(x, edges_between("histogram", x, bins, low, high), options);
}
HistogramValues histogram(const Value& x, std::int64_t bins, const HistogramOptions& options) {
  return histogram(x, edges_of_range("histogram", x, bins), options);
}

Value histc(const Value& x, std::int64_t bins, double low, double high) {
  const Value edges = low == high ? edges_of_range("histc", x, bins) : edges_between("histc", x, bins, low, high);
  return cast(histogram(x, edges).counts, x.dtype());
}

}  // namespace kiln
