// Copies of bytes that do not overlap, and elements as words of their size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu {

/// Calls f(TypeTag<Word>) with the unsigned integer of so many bytes: 1, 2, 4 or 8.
template <class F>
decltype(auto) visit_word(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(TypeTag<std::uint8_t>{});
    case 2: return f(TypeTag<std::uint16_t>{});
    case 4: return f(TypeTag<std::uint32_t>{});
    default: return f(TypeTag<std::uint64_t>{});
  }
}

/// Copies the first and the last `size` of `bytes` bytes; these may overlap.
template <std::size_t size>
void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, size);
  std::memcpy(to + bytes - size, from + bytes - size, size);
}

/// Does what std::memcpy does, but faster in two cases: for a few bytes, where a call takes longer than the copy; and for long
/// rows that start, within a page of memory, less than a cache line after their source. There some processors need ten
/// times as long for the instruction by which std::memcpy copies long rows.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::size_t kShort = 2048, kLine = 64;
  auto* const z = static_cast<std::byte*>(to);
  const auto* const x = static_cast<const std::byte*>(from);
  if (16 <= bytes && bytes <= 128)
    return bytes <= 32   ? copy_ends<16>(z, x, bytes)
           : bytes <= 64 ? copy_ends<32>(z, x, bytes)
                         : copy_ends<64>(z, x, bytes);
  if (4 <= bytes && bytes < 16) return bytes < 8 ? copy_ends<4>(z, x, bytes) : copy_ends<8>(z, x, bytes);
  const std::uintptr_t behind = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  if (bytes <= kShort || behind == 0 || behind >= kLine) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (std::size_t at = 0; at + kLine <= bytes; at += kLine) std::memcpy(z + at, x + at, kLine);
  std::memcpy(z + bytes - kLine, x + bytes - kLine, kLine);
}

}  // namespace kiln::cpu
