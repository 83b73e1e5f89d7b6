// Into how many pieces work is cut. By its cost alone, never by the number of threads: the bits must not depend on them.
#pragma once
#include <algorithm>
#include <cstdint>

namespace kiln::cpu {

/// Floating-point operations that are worth handing to another thread: some 5 us.
inline constexpr std::int64_t kWorthAThread = 1 << 19;

/// Bytes of a result that are, where memory takes longer than arithmetic.
inline constexpr std::int64_t kBytesWorthAThread = 65536;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// Up to 16 pieces, as long as they are worth it; up to 64 of 128 million operations each.
constexpr std::int64_t pieces(std::int64_t cost) {
  const std::int64_t few = std::clamp<std::int64_t>(cost / kWorthAThread, 1, 16);
  return std::clamp<std::int64_t>(cost >> 29, few, 64);
}

}  // namespace kiln::cpu
