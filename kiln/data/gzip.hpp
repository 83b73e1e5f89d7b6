// Reads gzip (RFC 1952) out of memory, a piece at a time, so that a reader can look at a header before it
// decides how much to inflate.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace kiln {

/// Whether the bytes begin with gzip's magic number.
bool is_gzip(std::span<const std::byte> bytes);

/// Deflate cannot expand further than this: 258 bytes out of two bits.
inline constexpr std::int64_t kMaxInflation = 1032;

/// `file` and `name`, which is what errors call it, must outlive the reader.
class GzipReader {
 public:
  GzipReader(std::span<const std::byte> file, std::string_view name);

  /// Fills `out` as far as the file goes: fewer bytes mean its end. Several members in a row read as one.
  /// Throws DataError on damage, a wrong checksum, a cut-off file, or bytes behind the end that are no gzip.
  std::size_t read(std::span<std::byte> out);

 private:
  struct Stream;
  struct Close {
    void operator()(Stream* stream) const;
  };
  std::unique_ptr<Stream, Close> stream_;
};

}  // namespace kiln
