// A file of items as bytes, the storage of a data set on disk.
//
//   "kilnitem", u64 fingerprint, then the items, each preceded by its CRC-32; then u64 offsets of the items and of the
//   end of the last, and u64 their number. All numbers are little-endian.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/core/mapped_file.hpp"

namespace kiln {

class ItemFile {
 public:
  /// Throws IoError, or DataError if it is no file of items, or is damaged.
  explicit ItemFile(FileBytes file);

  std::int64_t size() const { return count_; }
  /// A number by which the writer identifies the items' origin.
  std::uint64_t fingerprint() const { return fingerprint_; }
  /// Throws DataError if the bytes do not match their checksum.
  std::span<const std::byte> at(std::int64_t index) const;
  const std::string& name() const { return file_.name; }

 private:
  std::uint64_t offset(std::int64_t index) const;

  FileBytes file_;
  std::uint64_t fingerprint_ = 0, index_ = 0;  // where the offsets begin
  std::int64_t count_ = 0;
};

/// Replaces the file atomically; `item` returns the bytes of each item. Throws IoError, and what `item` throws.
void write_items(const std::string& path, std::uint64_t fingerprint, std::int64_t count,
                 FunctionRef<std::vector<std::byte>(std::int64_t)> item);

}  // namespace kiln
