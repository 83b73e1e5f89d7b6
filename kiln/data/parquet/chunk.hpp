// The values of a column in a row group, read out of its pages.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/data/parquet/footer.hpp"
#include "kiln/data/parquet/unpacked.hpp"

namespace kiln::parquet {

struct Chunk {
  // One of these has the elements, by Column::kind(); those that are missing are 0, or empty.
  std::vector<std::int64_t> wholes;  // truth values among them
  std::vector<double> numbers;
  std::vector<std::string_view> bytes;

  std::vector<std::uint8_t> missing;  // of each element; empty where none can be
  std::vector<std::uint32_t> begins;  // of a list: each row's first element, and where the last ends
  std::vector<std::uint8_t> no_list;  // of each row: the list itself is missing

  FileBytes file;           // bytes lie there,
  std::vector<Page> pages;  // or in these

  bool is_missing(std::size_t element) const { return !missing.empty() && missing[element]; }
  std::int64_t size_in_memory() const;
};

/// Throws DataError where it is damaged, or of an encoding that is not read; IoError where there is no libzstd.
Chunk read_chunk(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows);

}  // namespace kiln::parquet
