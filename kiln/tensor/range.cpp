#include "kiln/tensor/range.hpp"

namespace kiln {
namespace {

/// Entries spelled out: one slice per dimension of the operand, and which of them were indices.
struct Selection {
  InlineList<Range, kMaxRank> ranges;
  InlineList<bool, kMaxRank> dropped;
  std::span<const Range> span() const { return {ranges.begin(), ranges.end()}; }
};

Selection resolve(const Value& x, std::span<const IndexEntry> entries) {
  const auto rest = [](const IndexEntry& entry) { return entry.type == IndexEntry::Type::Rest; };
  int named = 0, ellipses = 0;
  for (const IndexEntry& entry : entries) ++(rest(entry) ? ellipses : named);
  require<IndexError>(ellipses <= 1, "slice: an index has one ellipsis at most, got ", ellipses);
  require<IndexError>(named <= x.rank(), "slice: ", named, " indices for ", x);

  Selection selection;
  const auto take = [&](const Range& range, bool dropped) {
    selection.ranges.push_back(range);
    selection.dropped.push_back(dropped);
  };
  for (const IndexEntry& entry : entries) {
    const int dim = selection.ranges.size();
    if (rest(entry)) {
      for (int i = named; i < x.rank(); ++i) take({}, false);
    } else if (entry.type == IndexEntry::Type::Slice) {
      take(entry.slice, false);
    } else {
      const std::int64_t size = x.dim(dim), index = entry.index < 0 ? entry.index + size : entry.index;
      require<IndexError>(0 <= index && index < size, "slice: index ", entry.index, " is out of range for dimension ",
                          dim, " of size ", size);
      take({index, index + 1}, true);
    }
  }
  while (selection.ranges.size() < x.rank()) take({}, false);
  return selection;
}

}  // namespace

Value index(const Value& x, std::span<const IndexEntry> entries) {
  const Selection selection = resolve(x, entries);
  const Value sliced = slice(x, selection.span());
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!selection.dropped[i]) shape.push_back(sliced.dim(i));
  return shape.size() == x.rank() ? sliced : reshape(sliced, shape);
}

Value index_assign(const Value& x, std::span<const IndexEntry> entries, const Value& value) {
  const Selection selection = resolve(x, entries);
  // The value's dimensions are the last of x(entries...): give it the dropped ones back.
  Shape shape = value.shape();
  for (int i = x.rank() - 1, seen = 0, left = value.rank(); i >= 0 && left > 0; --i, ++seen) {
    if (selection.dropped[i]) shape.insert(shape.size() - seen, 1);
    else --left;
  }
  const bool same = value.is_scalar() || shape == value.shape();
  return slice_assign(x, selection.span(), same ? value : reshape(value, shape));
}

}  // namespace kiln
