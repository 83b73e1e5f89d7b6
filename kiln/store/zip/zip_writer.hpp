// Writes zip archives of stored entries. Each begins at a multiple of 64 bytes, so that a program that maps the file
// reads tensors in place.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/store/format/source.hpp"

namespace kiln {

class ZipWriter {
 public:
  /// `sink` must outlive this object.
  explicit ZipWriter(ByteSink sink) : sink_(sink) {}

  /// Adds an entry that consists of these two pieces.
  void add(std::string_view name, std::span<const std::byte> head, std::span<const std::byte> rest = {});
  void add(std::string_view name, std::string_view contents) { add(name, std::as_bytes(std::span(contents))); }
  /// Writes the directory, after which nothing may follow.
  void finish();

 private:
  void put(std::string_view bytes);

  struct Written {
    std::string name;
    std::uint64_t begin, size;
    std::uint32_t crc;
  };
  ByteSink sink_;
  std::uint64_t at_ = 0;
  std::vector<Written> written_;
};

}  // namespace kiln
