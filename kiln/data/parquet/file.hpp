// A Parquet file that is open: what it says of itself, and its columns when they are asked for.
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
  /// Of the rows that were read, columns of whole row groups are kept for the next ones, up to `most_bytes`. Rows of larger
  /// files are read in their order, or by a stream that shuffles (kiln/data/stream): each row at random would unpack a group.
  /// A column of one group may take as much, or 1 GiB, or 64 times its bytes: pages of a few bytes may claim far more.
  /// Throws IoError; DataError where the file is none, or damaged.
  explicit ParquetFile(const std::string& path, std::int64_t most_bytes = std::int64_t{1} << 30)
      : ParquetFile(map_file(path), most_bytes) {}
  explicit ParquetFile(FileBytes file, std::int64_t most_bytes = std::int64_t{1} << 30);

  std::int64_t size() const;
  const std::string& name() const;
  const std::vector<parquet::Column>& columns() const;
  /// What its writer said by this key: "huggingface", say. Null where that is nothing.
  const std::string* metadata(std::string_view key) const;
  /// The names of the classes that a column's whole numbers stand for, where Hugging Face's library wrote the file; none
  /// where it does not say.
  std::vector<std::string> classes(std::string_view column) const;

  struct Place {
    std::size_t group = 0, row = 0;
  };
  Place find(std::int64_t index) const;
  /// From any thread. Throws DataError; IoError where a library is missing that unpacks it.
  std::shared_ptr<const parquet::Chunk> chunk(std::size_t column, std::size_t group) const;

 private:
  struct Open;
  std::shared_ptr<Open> open_;
};

}  // namespace kiln
