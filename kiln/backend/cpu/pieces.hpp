// Into how many pieces work is divided. Its cost alone decides: the bits must not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>

namespace kiln::cpu {

/// The number of floating-point operations that is worth another thread: about 5 us.
inline constexpr std::int64_t kMinOpsPerThread = 1 << 19;

/// The number of bytes of a result that is worth another thread, where memory takes longer than arithmetic.
inline constexpr std::int64_t kMinBytesPerThread = 65536;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// Returns up to 16 pieces, each worth a thread; from there up to 64, each with at least 2^29 operations.
constexpr std::int64_t pieces(std::int64_t cost) {
  const std::int64_t few = std::clamp<std::int64_t>(cost / kMinOpsPerThread, 1, 16);
  return std::clamp<std::int64_t>(cost >> 29, few, 64);
}

}  // namespace kiln::cpu
