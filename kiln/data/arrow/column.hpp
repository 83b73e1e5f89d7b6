// The elements of Arrow's columns, in the memory of whoever made them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/data/arrow/field.hpp"

namespace kiln::arrow {

/// An array. Elements are counted from its offset; `i` is less than its length.
struct Column {
  const Field* field = nullptr;
  std::int64_t length = 0, offset = 0;
  const std::uint8_t* validity = nullptr;  // a bit for each element; null if all are valid
  const std::byte* data = nullptr;         // elements, offsets, or views
  const std::byte* bytes = nullptr;        // what offsets are in
  const void* const* pieces = nullptr;     // what views are in
  std::vector<Column> children;
  std::vector<Column> dictionary;  // at most one

  bool is_null(std::int64_t i) const {
    if (field->type.layout == Layout::Nothing) return true;
    const std::int64_t at = offset + i;
    return validity && (validity[at / 8] >> (at % 8) & 1) == 0;
  }
  bool bit(std::int64_t i) const;
  /// Integers; of 64 bits without a sign, their bits.
  std::int64_t integer(std::int64_t i) const;
  /// Integers, floats and decimals: the nearest double.
  double number(std::int64_t i) const;
  /// Bytes, views, bytes of one size.
  std::string_view text(std::int64_t i) const;
  /// The first item of a list or map in the child, and how many there are.
  std::pair<std::int64_t, std::int64_t> items(std::int64_t i) const;
  /// The elements of columns of numbers from element `i` on.
  const std::byte* elements(std::int64_t i) const { return data + (offset + i) * field->type.width; }
};

/// Checks an array of this type, which must outlive the column: all numbers in its structs, all offsets, and the indices
/// of dictionaries. `needed` elements are used. Throws DataError that begins with `table` and names the column. What
/// cannot be checked is how long the buffers are.
Column column_of(const Field& field, const ArrowArray& array, std::int64_t needed, const std::string& table);

}  // namespace kiln::arrow
