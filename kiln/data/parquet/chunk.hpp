// The values of a column in a row group, read out of its pages.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/data/parquet/footer.hpp"
#include "kiln/data/parquet/values.hpp"

namespace kiln::parquet {

struct Chunk {
  Values elements;                   // by Column::kind(); those that are missing are 0, or empty
  std::vector<std::uint8_t> levels;  // of each element, its definition; empty where none can be missing

  /// Lists that lie equally deep: one for each row, or for each item of the lists around them.
  struct Lists {
    std::vector<std::uint32_t> begins;  // their first items, which lie behind each other; and where the last one ends
    std::vector<std::uint8_t> levels;   // definitions, which tell an empty list from one that is missing
  };
  std::vector<Lists> lists;  // the outer ones first: the items of the innermost are the elements

  FileBytes file;           // bytes lie there,
  std::vector<Page> pages;  // or in these

  /// The definition of a row, or of an item of the lists that `depth` lists are around.
  int level_of(std::size_t depth, std::size_t entry) const {
    if (depth < lists.size()) return lists[depth].levels[entry];
    return levels.empty() ? 0xff : levels[entry];
  }
  std::int64_t size_in_memory() const;
};

/// Throws DataError where it takes more memory than `most_bytes` or 1 GiB and than 64 times its bytes, which a page of a few
/// bytes may claim; where it is damaged, or of an encoding that is not read; IoError where a library is missing that unpacks
/// its pages.
Chunk read_chunk(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows,
                 std::int64_t most_bytes);

}  // namespace kiln::parquet
