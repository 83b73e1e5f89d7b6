#include "kiln/ops/reduce/unique.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/point.hpp"
#include "kiln/ops/reduce/scan.hpp"

namespace kiln {
namespace {

template <class T>
auto comparable(T x) {
  if constexpr (std::is_arithmetic_v<T>) return x;
  else return static_cast<float>(x);
}

/// Whether each element differs from the one before it.
Value begins_run(const Value& line) {
  const std::int64_t length = line.dim(0);
  const Value before = narrow(line, 0, 0, length - 1), after = narrow(line, 0, 1, length - 1);
  Value differs = ne(before, after);
  if (is_float(line.dtype())) differs = logical_and(differs, logical_not(logical_and(is_nan(before), is_nan(after))));
  return cat(Values{full({1}, true, line.device(), DType::Bool), differs}, 0);
}

/// Finds the runs of equal elements in a line; `inverse` is the run of each element.
Distinct runs(const Value& line) {
  const std::int64_t length = line.dim(0);
  if (length == 0) {
    const Value none = zeros({0}, line.device(), DType::I64);
    return {line, none, none};
  }
  // mask_select waits and comes first: it also runs the work pending by then, and callers that read only the values
  // need no more.
  const Value begins = begins_run(line.detach()), values = mask_select(line, begins), first = flat_nonzero(begins);
  const Value ends =
      cat(Values{narrow(first, 0, 1, first.dim(0) - 1), full({1}, length, line.device(), DType::I64)}, 0);
  return {values, cumsum(begins, 0) - 1, ends - first};
}

/// Distinct slices along the first dimension, found on the host.
Distinct distinct_slices(std::string_view op, const Value& x, int dim, bool sorted) {
  if (is_point(op, x, dim)) return distinct_slices(op, line_of(x), 0, sorted);
  dim = wrap_dim(op, dim, x.rank());
  const auto count = static_cast<std::size_t>(x.dim(dim));
  const TensorData data = transpose(x.detach(), 0, dim).data();
  const std::size_t width = count ? static_cast<std::size_t>(data.numel()) / count : 0;

  std::vector<std::int64_t> order(count), inverse(count), firsts, counts;
  std::iota(order.begin(), order.end(), std::int64_t{0});
  visit_dtype(data.dtype(), [&]<class T>(TypeTag<T>) {
    const auto elements = data.as<T>();
    const auto slice = [&](std::int64_t i) { return elements.subspan(static_cast<std::size_t>(i) * width, width); };
    /// Returns -1, 0 or 1; NaN is larger than any number.
    const auto compare = [&](std::int64_t a, std::int64_t b) {
      for (std::size_t k = 0; k < width; ++k) {
        const auto left = comparable(slice(a)[k]), right = comparable(slice(b)[k]);
        if (left < right || (left == left && right != right)) return -1;
        if (left > right || (left != left && right == right)) return 1;
      }
      return 0;
    };
    if (sorted)
      std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const int order_of_values = compare(a, b);
        return order_of_values ? order_of_values < 0 : a < b;  // of equal slices the first comes first
      });
    for (std::size_t i = 0; i < count; ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) {
        firsts.push_back(order[i]);
        counts.push_back(0);
      }
      ++counts.back();
      inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(firsts.size()) - 1;
    }
  });
  const auto line = [&](const std::vector<std::int64_t>& numbers) {
    return from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers), x.device());
  };
  return {select(x, dim, line(firsts)), line(inverse), line(counts)};
}

}  // namespace

Distinct unique(const Value& x, Dim dim) { return distinct_slices("unique", x, dim, true); }
Distinct unique_consecutive(const Value& x, Dim dim) { return distinct_slices("unique_consecutive", x, dim, false); }

Distinct unique(const Value& x) {
  const auto [sorted, indices] = sort(reshape(x, {x.numel()}), 0);
  Distinct distinct = runs(sorted);
  const Value places = scatter_add(zeros_like(indices), 0, indices, distinct.inverse);
  distinct.inverse = reshape(places, x.shape());
  return distinct;
}

Distinct unique_consecutive(const Value& x) {
  Distinct distinct = runs(reshape(x, {x.numel()}));
  distinct.inverse = reshape(distinct.inverse, x.shape());
  return distinct;
}

}  // namespace kiln
