// Checksums of damaged files made right again, so that what lies behind them is reached.
#pragma once
#include <cstring>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/store/zip/deflate.hpp"
#include "kiln/store/zip/zip_reader.hpp"

namespace kiln {

/// The record's directory has its checksum mended, so that what reads the directory is reached.
inline void mend_record(std::vector<std::byte>& bytes) {
  constexpr std::size_t kFooter = 24;
  if (bytes.size() < kFooter) return;
  std::uint64_t length = 0;
  std::byte* const footer = bytes.data() + bytes.size() - kFooter;
  std::memcpy(&length, footer, 8);
  if (length > bytes.size() - kFooter) return;
  const std::uint32_t crc = crc32_of(std::span<const std::byte>(footer - length, static_cast<std::size_t>(length)));
  std::memcpy(footer + 8, &crc, 4);
}

inline std::uint32_t crc_of(const FileBytes& file, const ZipEntry& entry) {
  const auto bytes = file.bytes.subspan(entry.begin, static_cast<std::size_t>(entry.stored));
  return entry.deflated ? crc32_of(inflate(bytes, entry.size, "mended")) : crc32_of(bytes);
}

/// Likewise a zip archive's entries, as far as they can be inflated.
inline void mend_zip(std::vector<std::byte>& bytes) {
  const FileBytes file{bytes, "mended", nullptr};
  try {
    for (const auto& [name, entry] : read_zip(file)) {
      const std::uint32_t crc = crc_of(file, entry);
      for (std::size_t at = 0; at + 46 + name.size() <= bytes.size(); ++at) {
        if (std::memcmp(bytes.data() + at, "PK\x01\x02", 4) != 0 ||
            std::memcmp(bytes.data() + at + 46, name.data(), name.size()) != 0)
          continue;
        std::memcpy(bytes.data() + at + 16, &crc, 4);
      }
    }
  } catch (const DataError&) {}
}

}  // namespace kiln
