// The compressions of Parquet's pages: snappy, gzip, zstd, LZ4 and Brotli.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace kiln::parquet {

/// Bytes that are kept by somebody else, or here.
struct Page {
  std::span<const std::byte> bytes;
  std::unique_ptr<std::byte[]> own{};
};

/// `size` bytes out of `packed`, by Parquet's number of a compression. Throws DataError where the page is damaged, or of a
/// compression that is not read; IoError where this machine has no libzstd or libbrotli, each opened when it is first needed.
Page unpacked(std::span<const std::byte> packed, std::size_t size, int codec, std::string_view file);

}  // namespace kiln::parquet
