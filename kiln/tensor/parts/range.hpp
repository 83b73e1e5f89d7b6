// The entries of x(0, s(1, end), ellipsis, -1): indices, Python's slices, `...`, tensors of indices, and masks.
#pragma once
#include <concepts>
#include <optional>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/update.hpp"
#include "kiln/tensor/parts/kind.hpp"

namespace kiln {

/// The end of the dimension: s(2, end), and s({}, {}, -1) for Python's ::-1.
inline constexpr std::nullopt_t end = std::nullopt;

/// The whole dimension.
inline Range s() { return {}; }
/// Python's from:to:step. Negative ends count from the end, ends that are too large are clamped.
inline Range s(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t step = 1) {
  return {from, to, step};
}

/// Stands for as many whole dimensions as the other entries leave; allowed once, and implied at the end.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis;

/// One entry: an index, which drops its dimension; a slice, which keeps it; the ellipsis; or a tensor of indices for
/// one dimension, or a mask for as many dimensions as it has.
struct IndexEntry {
  enum class Type : std::uint8_t { Index, Slice, Rest, Places };
  IndexEntry(Integer auto index) : type(Type::Index), index(static_cast<std::int64_t>(index)) {}
  IndexEntry(const Range& slice) : type(Type::Slice), slice(slice) {}
  IndexEntry(Ellipsis) : type(Type::Rest) {}
  explicit IndexEntry(const Value& places) : type(Type::Places), places(places) {}

  Type type;
  std::int64_t index = 0;
  Range slice;
  Value places;
};

/// x indexed by the entries: first by the indices and slices, then by tensors as index_get does. Throws IndexError.
Value index(const Value& x, std::span<const IndexEntry> entries);
/// x with those elements updated by `value`, which broadcasts to them; several values for one position are applied in
/// their order.
Value index_assign(const Value& x, std::span<const IndexEntry> entries, const Value& value,
                   Update update = Update::Assign);

}  // namespace kiln
