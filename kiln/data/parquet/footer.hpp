// What a Parquet file says of itself at its end: columns, and where the pieces of each lie.
// https://github.com/apache/parquet-format
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/mapped_file.hpp"
#include "kiln/data/parquet/thrift.hpp"

namespace kiln::parquet {

/// How a value lies in the file.
enum class Stored { Boolean, Int32, Int64, Int96, Float, Double, ByteArray, FixedLenByteArray };
/// What it is read as: truth values, whole numbers, numbers, or bytes, which may be a text.
enum class Kind { Flags, Wholes, Numbers, Bytes };

/// A leaf of the schema. Its name is the way to it, without what lists and maps have for themselves: "answers.text".
struct Column {
  std::string name;
  Stored stored = Stored::Boolean;
  std::int32_t width = 0;     // bytes of a FixedLenByteArray
  bool without_sign = false;  // whole numbers from 0 on
  int most_definition = 0;    // levels: how many of the nodes on the way to it may be missing, and are there
  int most_repetition = 0;    // 1 for a list, more for lists of lists
  int list_definition = 0;    // of a list: the level from which it has an element
  std::string problem;        // why it cannot be read; empty where it can

  Kind kind() const;
};

/// A column's part of a row group.
struct ChunkPlace {
  std::uint64_t begin = 0, size = 0;  // bytes of the file
  std::int64_t values = 0;            // with those that are missing
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

/// Throws DataError where the file is none, damaged or encrypted.
Footer read_footer(const FileBytes& file);

}  // namespace kiln::parquet
