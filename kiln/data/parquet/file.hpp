// An open Parquet file: its description, and its columns, which are read on demand.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/mapped_file.hpp"
#include "kiln/data/parquet/chunk.hpp"

namespace kiln {

class ParquetFile {
 public:
  /// Columns of whole row groups are kept for the next rows, up to `most_bytes`. Rows of larger files should be read in
  /// order, or by a stream that shuffles (kiln/data/stream): random rows would decompress a group each. A column of one
  /// group may take up to `most_bytes`, 1 GiB, or 64 times its stored bytes: pages of a few bytes may claim far more.
  /// Throws IoError; DataError if it is no Parquet file, or damaged.
  explicit ParquetFile(const std::string& path, std::int64_t most_bytes = std::int64_t{1} << 30)
      : ParquetFile(map_file(path), most_bytes) {}
  explicit ParquetFile(FileBytes file, std::int64_t most_bytes = std::int64_t{1} << 30);

  std::int64_t size() const;
  const std::string& name() const;
  const std::vector<parquet::Column>& columns() const;
  /// The writer's metadata for this key, such as "huggingface"; null if there is none.
  const std::string* metadata(std::string_view key) const;
  /// The class names that a column's integers stand for, if Hugging Face's library wrote the file; empty if they are
  /// unknown.
  std::vector<std::string> classes(std::string_view column) const;

  struct RowPosition {
    std::size_t group = 0, row = 0;
  };
  RowPosition find(std::int64_t index) const;
  /// Thread-safe. Throws DataError; IoError if a library that decompresses it is missing.
  std::shared_ptr<const parquet::Chunk> chunk(std::size_t column, std::size_t group) const;

 private:
  struct Open;
  std::shared_ptr<Open> open_;
};

}  // namespace kiln
