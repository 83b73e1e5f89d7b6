// SHA-256 (FIPS 180-4), to verify downloaded files.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kiln {

/// Add the bytes in any pieces, then get the digest once.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  /// The digest of all bytes, as 64 lower-case hexadecimal digits. update() must not be called afterwards.
  std::string hex_digest();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                         0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::byte, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes so far; the last length_ % 64 of them are in pending_
};

}  // namespace kiln
