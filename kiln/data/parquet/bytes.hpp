// Reads numbers from the bytes of a Parquet file; never reads outside of them, whatever they contain.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln::parquet {

/// Throws DataError: "train.parquet: is a damaged Parquet file: a page ends too early".
template <class... Words>
[[noreturn]] void throw_damaged(std::string_view file, const Words&... words) {
  fail<DataError>(file, ": is a damaged Parquet file: ", words...);
}

class Bytes {
 public:
  /// `file` is the name for errors, and must outlive this; `what` is named in the error for missing bytes.
  Bytes(std::span<const std::byte> bytes, std::string_view file, std::string_view what)
      : rest_(bytes), file_(file), what_(what) {}

  std::span<const std::byte> rest() const { return rest_; }
  std::string_view file() const { return file_; }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > rest_.size()) throw_damaged(file_, what_, " ends too early");
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::uint8_t byte() { return std::to_integer<std::uint8_t>(take(1)[0]); }
  /// A number as it is stored, little-endian.
  template <class T>
  T number() {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  /// A varint: seven bits per byte, lowest first (LEB128).
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t more = byte();
      value |= (more & 0x7f) << shift;
      if (more < 0x80) return value;
    }
    throw_damaged(file_, what_, " has a number of more than 64 bits");
  }
  /// A varint with the sign in the lowest bit.
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
  }

 private:
  std::span<const std::byte> rest_;
  std::string_view file_, what_;
};

/// Number `index` of those packed in `bytes` with `width` bits each (0 to 64), lowest bits first. The bytes must
/// suffice.
inline std::uint64_t packed_bits(std::span<const std::byte> bytes, std::uint64_t index, int width) {
  const std::uint64_t bit = index * static_cast<std::uint64_t>(width);
  const std::size_t first = static_cast<std::size_t>(bit / 8);
  const int shift = static_cast<int>(bit % 8);
  std::uint64_t low = 0;
  std::memcpy(&low, bytes.data() + first, std::min<std::size_t>(sizeof low, bytes.size() - first));
  low >>= shift;
  if (shift + width > 64) low |= std::to_integer<std::uint64_t>(bytes[first + 8]) << (64 - shift);
  return width == 64 ? low : low & ((std::uint64_t{1} << width) - 1);
}

}  // namespace kiln::parquet
