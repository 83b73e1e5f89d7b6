// Raw deflate (RFC 1951) and CRC-32, of pieces in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kiln {

/// Deflate cannot expand data further than this: 258 bytes from two bits.
inline constexpr std::uint64_t kMostInflation = 1032;

/// Returns exactly `size` bytes. Throws DataError naming `what`. Memory grows with the bytes that are really produced.
std::vector<std::byte> inflate(std::span<const std::byte> bytes, std::uint64_t size, std::string_view what);
/// Returns the first `count` bytes, or as many as there are, without reading the rest.
std::vector<std::byte> inflate_beginning(std::span<const std::byte> bytes, std::size_t count, std::string_view what);
std::vector<std::byte> deflate(std::span<const std::byte> bytes);
/// Returns the checksum of `bytes` after others, whose checksum is `before`.
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace kiln
