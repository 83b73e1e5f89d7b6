// The types of Arrow's columns.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/arrow/abi.hpp"

namespace kiln::arrow {

enum class Layout {
  Nothing,     // all values are null
  Bits,        // truth values
  Integers,    // also times, as they are stored
  Floats,      // of 2, 4 or 8 bytes
  Decimals,    // integers, lowest byte first, with a scale
  Bytes,       // texts or bytes, by offsets into one buffer
  Views,       // texts or bytes, by places in several buffers
  FixedBytes,  // of one size
  Lists,       // by offsets into the child
  FixedLists,  // of one size
  Structs,
  Maps,  // lists of structs of a key and a value
};

struct Type {
  Layout layout = Layout::Nothing;
  std::int64_t width = 0;  // bytes of an element or of an offset; items of a list of one size
  bool has_sign = true;
  std::int32_t scale = 0;  // of decimals
};

/// A column's name and type, and those within it.
struct Field {
  std::string path;  // for error messages: "turns.role"
  std::string name, format;
  Type type;
  std::vector<Field> children;
  std::vector<Field> dictionary;  // the type that the column's integers stand for; at most one

  /// The field of the elements: the field itself, or that of its dictionary.
  const Field& meaning() const { return dictionary.empty() ? *this : dictionary.front(); }
};

/// "column 'turns.role'", or "the table" for the outermost struct.
std::string place_of(const Field& field);

/// Reads a schema. Throws DataError that begins with `table` and names the column: for a null pointer, a negative
/// number of children, or a type that is not supported.
Field field_of(const ArrowSchema& schema, const std::string& table);

}  // namespace kiln::arrow
