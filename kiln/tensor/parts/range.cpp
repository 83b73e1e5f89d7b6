#include "kiln/tensor/parts/range.hpp"

#include "kiln/ops/index/index.hpp"

namespace kiln {
namespace {

/// Resolved entries: one slice per dimension of the operand, which of the slices were indices, and the tensors of
/// positions for the remaining dimensions, as index_get takes them (none if empty).
struct Selection {
  InlineList<Range, kMaxRank> ranges;
  InlineList<bool, kMaxRank> dropped;
  Values places;
  std::span<const Range> span() const { return {ranges.begin(), ranges.end()}; }
};

/// The number of dimensions that `places` indexes.
int dimensions(const Value& places) { return places.dtype() == DType::Bool ? places.rank() : 1; }

Selection resolve(const Value& x, std::span<const IndexEntry> entries) {
  const auto rest = [](const IndexEntry& entry) { return entry.type == IndexEntry::Type::Rest; };
  int named = 0, ellipses = 0;
  bool has_places = false;
  for (const IndexEntry& entry : entries) {
    has_places |= entry.type == IndexEntry::Type::Places;
    if (rest(entry)) ++ellipses;
    else named += entry.type == IndexEntry::Type::Places ? dimensions(entry.places) : 1;
  }
  require<IndexError>(ellipses <= 1, "slice: an index has one ellipsis at most, got ", ellipses);
  require<IndexError>(named <= x.rank(), "slice: ", named, " indices for ", x);

  Selection selection;
  const auto take = [&](const Range& range, bool dropped) {
    selection.ranges.push_back(range);
    selection.dropped.push_back(dropped);
    if (has_places && !dropped) selection.places.push_back({});
  };
  for (const IndexEntry& entry : entries) {
    const int dim = selection.ranges.size();
    if (rest(entry)) {
      for (int i = named; i < x.rank(); ++i) take({}, false);
    } else if (entry.type == IndexEntry::Type::Slice) {
      take(entry.slice, false);
    } else if (entry.type == IndexEntry::Type::Places) {
      const int count = dimensions(entry.places);
      for (int i = 0; i < count; ++i) take({}, false);
      selection.places.resize(selection.places.size() - static_cast<std::size_t>(count));
      selection.places.push_back(entry.places);
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

/// Applies the slices and drops the dimensions of the indices.
Value take(const Value& x, const Selection& selection) {
  const Value sliced = slice(x, selection.span());
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!selection.dropped[i]) shape.push_back(sliced.dim(i));
  return shape.size() == x.rank() ? sliced : reshape(sliced, shape);
}

/// x with the elements that take() returns replaced by `value`, which broadcasts to them.
Value put(const Value& x, const Selection& selection, const Value& value) {
  // The value's dimensions align with the last ones that were taken: insert those that indices dropped.
  Shape shape = value.shape();
  for (int i = x.rank() - 1, seen = 0, left = value.rank(); i >= 0 && left > 0; --i, ++seen) {
    if (selection.dropped[i]) shape.insert(shape.size() - seen, 1);
    else --left;
  }
  const bool same = value.is_scalar() || shape == value.shape();
  return slice_assign(x, selection.span(), same ? value : reshape(value, shape));
}

Value updated(const Value& x, const Value& value, Update update) {
  switch (update) {
    case Update::Assign: return value;
    case Update::Add: return x + value;
    case Update::Mul: return x * value;
    case Update::Min: return minimum(x, value);
    case Update::Max: return maximum(x, value);
  }
  return {};
}

}  // namespace

Value index(const Value& x, std::span<const IndexEntry> entries) {
  const Selection selection = resolve(x, entries);
  const Value taken = take(x, selection);
  return selection.places.empty() ? taken : index_get(taken, selection.places);
}

Value index_assign(const Value& x, std::span<const IndexEntry> entries, const Value& value, Update update) {
  const Selection selection = resolve(x, entries);
  if (selection.places.empty() && update == Update::Assign) return put(x, selection, value);
  const Value taken = take(x, selection);
  if (selection.places.empty()) return put(x, selection, updated(taken, value, update));
  const Value& first = selection.places[0];
  bool mask_alone = !first.empty() && first.dtype() == DType::Bool && update == Update::Assign;
  for (std::size_t i = 1; i < selection.places.size(); ++i) mask_alone &= selection.places[i].empty();
  const Value replaced =
      mask_alone ? mask_assign(taken, first, value) : index_put(taken, selection.places, value, update);
  return taken.node() == x.node() ? replaced : put(x, selection, replaced);
}

}  // namespace kiln
