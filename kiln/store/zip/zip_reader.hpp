// Zip archives (PKWARE's APPNOTE 6.3), as PyTorch and NumPy write them: stored or deflated entries, also beyond 4 GiB.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "kiln/core/mapped_file.hpp"

namespace kiln {

struct ZipEntry {
  std::size_t begin = 0;     // offset of its bytes in the file
  std::uint64_t stored = 0;  // size in the file
  std::uint64_t size = 0;    // size after decompression
  std::uint32_t crc = 0;     // checksum of the decompressed bytes
  bool deflated = false;
};

bool is_zip(std::span<const std::byte> bytes);

/// Returns the entries by name. The directory is checked against the file: offsets, overlaps, and sizes that no
/// deflated bytes can grow to. Throws DataError, also for encrypted entries and other compression methods.
std::map<std::string, ZipEntry> read_zip(const FileBytes& file);

/// Returns an entry's bytes: borrowed from the file if they are stored, otherwise inflated into memory of their own.
/// The checksum of inflated bytes is compared, and that of stored ones if `checked`, which reads them all.
FileBytes zip_contents(const FileBytes& file, const std::string& name, const ZipEntry& entry, bool checked = false);
/// Returns at most the first `count` bytes, which no checksum verifies.
FileBytes zip_beginning(const FileBytes& file, const std::string& name, const ZipEntry& entry, std::size_t count);

}  // namespace kiln
