// The IDX format of MNIST and its relatives: two zero bytes, an element type, the number of dimensions,
// their sizes as big-endian 32-bit numbers, then the elements. Read from memory, gzip or not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/core/shape.hpp"

namespace kiln {

/// Bytes in row-major order; other element types of IDX are not supported, as image sets do not use them.
struct IdxArray {
  Shape shape;
  std::vector<std::uint8_t> values;  // numel(shape) of them
};

/// A limit of what a file may claim to contain, so that a forged header cannot fill the memory.
inline constexpr std::int64_t kMaxIdxBytes = std::int64_t{1} << 30;

/// Reads a whole IDX file of unsigned bytes; `name` is used in errors. Throws DataError if the file is no IDX file, is
/// truncated, has bytes after its end, or claims more elements than it can hold or than `limit`.
IdxArray read_idx(std::span<const std::byte> file, std::string_view name, std::int64_t limit = kMaxIdxBytes);

}  // namespace kiln
