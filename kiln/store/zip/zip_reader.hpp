// Zip archives (PKWARE's APPNOTE 6.3), as PyTorch and NumPy write them: stored or deflated entries, also beyond 4 GiB.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "kiln/core/mapped_file.hpp"

namespace kiln {

struct ZipEntry {
  std::size_t begin = 0;     // of its bytes in the file
  std::uint64_t stored = 0;  // bytes there
  std::uint64_t size = 0;    // bytes that they stand for
  std::uint32_t crc = 0;     // of those
  bool deflated = false;
};

bool is_zip(std::span<const std::byte> bytes);

/// The entries by name. All that the directory says is checked against the file: places, overlaps, and sizes that no
/// deflated bytes can grow to. Throws DataError, also for encrypted entries and other methods of compression.
std::map<std::string, ZipEntry> read_zip(const FileBytes& file);

/// An entry's bytes: lent by the file where they are stored, otherwise inflated, in memory of their own. The checksum of
/// inflated bytes is compared, and of stored ones where `checked`, which reads them all.
FileBytes zip_contents(const FileBytes& file, const std::string& name, const ZipEntry& entry, bool checked = false);
/// The first `count` of them at most, of which no checksum tells whether they are whole.
FileBytes zip_beginning(const FileBytes& file, const std::string& name, const ZipEntry& entry, std::size_t count);

}  // namespace kiln
