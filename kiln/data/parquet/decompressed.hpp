// Decompresses Parquet pages: snappy, gzip, zstd, LZ4 and Brotli.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace kiln::parquet {

/// Bytes that are owned elsewhere, or here.
struct Page {
  std::span<const std::byte> bytes;
  std::unique_ptr<std::byte[]> own{};
};

/// Decompresses `packed` to `size` bytes; `codec` is Parquet's number of the compression. Throws DataError if the page
/// is damaged, or the compression is not supported; IoError if libzstd or libbrotli, which are opened on first use, is
/// missing.
Page decompressed(std::span<const std::byte> packed, std::size_t size, int codec, std::string_view file);

}  // namespace kiln::parquet
