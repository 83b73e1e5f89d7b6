#include "kiln/ops/functions/unique.hpp"

#include "kiln/ops/functions/order.hpp"
#include "kiln/ops/functions/scan.hpp"

namespace kiln {
namespace {

/// Is each element another than the one before it?
Value begins_run(const Value& line) {
  const std::int64_t length = line.dim(0);
  const Value before = narrow(line, 0, 0, length - 1), after = narrow(line, 0, 1, length - 1);
  Value differs = ne(before, after);
  if (is_float(line.dtype())) differs = logical_and(differs, logical_not(logical_and(is_nan(before), is_nan(after))));
  return cat(Values{full({1}, true, line.device(), DType::Bool), differs}, 0);
}

/// `inverse` has the run of each element of the line.
Distinct runs(const Value& line) {
  const std::int64_t length = line.dim(0);
  if (length == 0) {
    const Value none = zeros({0}, line.device(), DType::I64);
    return {line, none, none};
  }
  const Value run = cumsum(begins_run(line.detach()), 0) - 1;
  const auto count = static_cast<std::int64_t>(at(run, 0, -1).item()) + 1;
  const Value starts = searchsorted(run, arange(0, count + 1, 1, line.device()));
  const Value first = narrow(starts, 0, 0, count);
  return {select(line, 0, first), run, narrow(starts, 0, 1, count) - first};
}

}  // namespace

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
