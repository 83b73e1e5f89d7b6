// Writing any number of bytes past the caches.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/streaming.hpp"

namespace kiln::cpu::simd {

/// The number of bytes of results from which on it pays.
inline constexpr std::int64_t kStreamedBytes = 32 << 20;

/// Copies `bytes` that do not overlap; `to` may have any alignment. Who calls it calls finish_streaming() at the end.
void stream(const void* from, void* to, std::int64_t bytes);

}  // namespace kiln::cpu::simd
