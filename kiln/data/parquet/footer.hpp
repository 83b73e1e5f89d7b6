// What a Parquet file says of itself at its end: columns, and where the pieces of each lie.
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

/// How a value lies in the file.
enum class Stored { Boolean, Int32, Int64, Int96, Float, Double, ByteArray, FixedLenByteArray };
/// What it is read as: truth values, whole numbers, numbers, or bytes, which may be a text.
enum class Kind { Flags, Wholes, Numbers, Bytes };

/// What values stand for that lie there as something else: decimals as whole numbers or their bytes, floats of 16 bits as
/// two bytes, times as twelve.
enum class Meaning { Itself, Decimal, Half, Time96 };

/// A leaf of the schema. Its name is the way to it, without what lists and maps have for themselves: "answers.text".
struct Column {
  std::string name;
  Stored stored = Stored::Boolean;
  Meaning meaning = Meaning::Itself;
  std::int32_t width = 0;     // bytes of each, where all have as many
  std::int32_t scale = 0;     // of decimals: how many digits stand behind the point
  bool without_sign = false;  // whole numbers from 0 on
  int most_definition = 0;    // levels: how many of the nodes on the way to it may be missing, and are there
  std::vector<int> lists;     // those on the way to it, the outer ones first: the level from which each has an item
  /// Of each node on the way: what part of the name it ends, and the level from which it is there.
  std::vector<std::pair<std::size_t, int>> nodes;
  std::string problem;  // why it cannot be read; empty where it can

  /// What it is read as, and as what it lies there.
  Kind kind() const;
  Kind stored_kind() const;
  /// The level from which the struct of that name is there, in which the column is.
  int definition_of(std::string_view node) const;
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
