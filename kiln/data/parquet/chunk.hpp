// The values of a column in a row group, read from its pages.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kiln/data/parquet/footer.hpp"
#include "kiln/data/parquet/values.hpp"

namespace kiln::parquet {

struct Chunk {
  Values elements;                   // by Column::kind(); missing ones are 0, or empty
  std::vector<std::uint8_t> levels;  // the definition level of each element; empty if none can be missing

  /// The lists at one depth: one for each row, or for each item of the enclosing lists.
  struct Lists {
    std::vector<std::uint32_t> begins;  // the index of each list's first item, and the end of the last list
    std::vector<std::uint8_t> levels;   // definition levels, which distinguish empty from missing lists
  };
  std::vector<Lists> lists;  // outermost first: the items of the innermost are the elements

  FileBytes file;           // owns the bytes of elements,
  std::vector<Page> pages;  // or these own them

  /// The definition level of a row, or of an item within `depth` lists.
  int level_of(std::size_t depth, std::size_t entry) const {
    if (depth < lists.size()) return lists[depth].levels[entry];
    return levels.empty() ? 0xff : levels[entry];
  }
  std::int64_t size_in_memory() const;
};

/// Throws DataError if the chunk needs more memory than the largest of `most_bytes`, 1 GiB, and 64 times its stored
/// bytes, since a page of a few bytes may claim far more; if it is damaged, or has an unsupported encoding. Throws
/// IoError if a library that decompresses its pages is missing.
Chunk read_chunk(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows,
                 std::int64_t most_bytes);

}  // namespace kiln::parquet
