// SHA-256 (FIPS 180-4), to tell whether a downloaded file is the one that was meant.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kiln {

/// Feed it bytes in any pieces, then ask once for the digest.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  /// The digest of everything fed so far, as 64 lower-case hexadecimal digits. Feed nothing after it.
  std::string hex_digest();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                         0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::byte, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes fed; the last length_ % 64 of them are in pending_
};

}  // namespace kiln
