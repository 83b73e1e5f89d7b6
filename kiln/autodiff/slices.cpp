#include "kiln/autodiff/slices.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "kiln/ops/functions.hpp"

namespace kiln {

void SliceGradients::add(const op::Slice& slice, Value grad) {
  elements_ += grad.numel();
  waiting_.push_back({slice.begin, slice.step, std::move(grad)});
}

bool SliceGradients::exceed(const Desc& whole) const { return elements_ > numel(whole.shape); }

/// The dimension along which the slices, sorted by their beginnings, follow one another without overlap, being complete
/// in all other dimensions; -1 where there is none.
int SliceGradients::only_dim(const Desc& whole) const {
  int dim = -1;
  for (const Waiting& each : waiting_)
    for (int i = 0; i < whole.shape.size(); ++i) {
      const bool is_whole = each.grad.dim(i) == whole.shape[i] && (whole.shape[i] == 1 || each.step[i] == 1);
      if (is_whole) continue;
      if (dim >= 0 && dim != i) return -1;
      dim = i;
    }
  if (dim < 0) return -1;
  std::int64_t end = 0;
  for (const Waiting& each : waiting_) {
    const std::int64_t size = each.grad.dim(dim);
    if (each.begin[dim] < end || (size > 1 && each.step[dim] != 1)) return -1;
    end = each.begin[dim] + size;
  }
  return dim;
}

Value SliceGradients::joined(int dim, const Desc& whole, const Device& device) {
  Values parts;
  std::int64_t end = 0;
  const auto leave_out = [&](std::int64_t until) {
    Shape gap = whole.shape;
    gap[dim] = until - end;
    if (gap[dim] > 0) parts.push_back(zeros(gap, device, whole.dtype));
  };
  for (Waiting& each : waiting_) {
    leave_out(each.begin[dim]);
    end = each.begin[dim] + each.grad.dim(dim);
    parts.push_back(std::move(each.grad));
  }
  leave_out(whole.shape[dim]);
  return cat(parts, dim);
}

namespace {

/// `count` elements from `begin` on. A negative step may reach element 0, before which no index exists.
Range range_of(std::int64_t begin, std::int64_t count, std::int64_t step) {
  const std::int64_t last = begin + (count - 1) * step;
  if (step > 0) return {begin, last + 1, step};
  return {begin, last > 0 ? std::optional(last - 1) : std::nullopt, step};
}

}  // namespace

Value SliceGradients::sum(Value rest, const Desc& whole, const Device& device) {
  std::ranges::stable_sort(waiting_, [](const Waiting& a, const Waiting& b) {
    return std::ranges::lexicographical_compare(a.begin, b.begin);
  });
  if (const int dim = waiting_.size() > 1 ? only_dim(whole) : -1; dim >= 0) {
    const Value all = joined(dim, whole, device);
    rest = rest.empty() ? all : rest + all;
  } else {
    for (const auto& [begin, step, grad] : waiting_) {
      const bool alone = rest.empty();
      if (alone) rest = zeros(whole.shape, device, whole.dtype);
      if (grad.numel() == 0) continue;
      std::vector<Range> ranges;
      for (int i = 0; i < whole.shape.size(); ++i) ranges.push_back(range_of(begin[i], grad.dim(i), step[i]));
      rest = slice_assign(rest, ranges, alone ? grad : slice(rest, ranges) + grad);
    }
  }
  waiting_.clear();
  elements_ = 0;
  return rest;
}

}  // namespace kiln
