// The description at the end of a Parquet file: its columns, and the places of their chunks.
// https://github.com/apache/parquet-format
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/mapped_file.hpp"
#include "kiln/data/parquet/thrift.hpp"

namespace kiln::parquet {

/// How a value is stored in the file.
enum class PhysicalType { Boolean, Int32, Int64, Int96, Float, Double, ByteArray, FixedLenByteArray };
/// The kind as which it is read: booleans, integers, floating-point numbers, or bytes, which may be a text.
enum class Kind { Flags, Integers, Numbers, Bytes };

/// The meaning of values that are stored as another type: decimals as integers or their bytes, 16-bit floats as two
/// bytes, times as twelve bytes.
enum class LogicalType { Itself, Decimal, Half, Time96 };

/// A leaf of the schema. Its name is its path, without the intermediate nodes of lists and maps: "answers.text".
struct Column {
  std::string name;
  PhysicalType stored = PhysicalType::Boolean;
  LogicalType meaning = LogicalType::Itself;
  std::int32_t width = 0;     // bytes of each value, if fixed
  std::int32_t scale = 0;     // for decimals, the number of digits after the point
  bool without_sign = false;  // are integers unsigned?
  int most_definition = 0;    // the maximal definition level: how many nodes of the path are optional or repeated
  std::vector<int> lists;     // the enclosing lists, outermost first: the definition level from which each has an item
  /// Where the name of each node of the path ends in `name`, and the definition level from which the node is present.
  std::vector<std::pair<std::size_t, int>> nodes;
  std::string problem;  // why it cannot be read; empty if it can

  /// The kind as which it is read, and that as which it is stored.
  Kind kind() const;
  Kind stored_kind() const;
  /// The definition level from which the enclosing struct of that name is present.
  int definition_of(std::string_view node) const;
};

/// A column's chunk in a row group.
struct ChunkPlace {
  std::uint64_t begin = 0, size = 0;  // bytes of the file
  std::int64_t values = 0;            // including missing ones
  std::int32_t codec = 0;
};
struct RowGroup {
  std::int64_t first = 0, rows = 0;
  std::vector<ChunkPlace> chunks;  // a column each
};

struct Footer {
  std::vector<Column> columns;
  std::vector<RowGroup> groups;
  std::int64_t rows = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Throws DataError if the file is not Parquet, damaged or encrypted.
Footer read_footer(const FileBytes& file);

}  // namespace kiln::parquet
