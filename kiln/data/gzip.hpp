// Reads gzip (RFC 1952) from memory, piece by piece, so that a reader can look at a header before it decides how much
// to inflate.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace kiln {

/// Do the bytes begin with gzip's magic number?
bool is_gzip(std::span<const std::byte> bytes);

/// The largest expansion of Deflate: 258 bytes from two bits.
inline constexpr std::int64_t kMaxInflation = 1032;

/// `file` and `name`, which errors use, must outlive the reader.
class GzipReader {
 public:
  GzipReader(std::span<const std::byte> file, std::string_view name);

  /// Fills `out` as far as possible: fewer bytes mean the end of the file. Several members in a row are read as one.
  /// Throws DataError for damaged or truncated data, a wrong checksum, or bytes after the end that are not gzip.
  std::size_t read(std::span<std::byte> out);

 private:
  struct Stream;
  struct Close {
    void operator()(Stream* stream) const;
  };
  std::unique_ptr<Stream, Close> stream_;
};

}  // namespace kiln
