// Writing past the caches: results that do not fit into them need not be read first, and do not push out what does.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// Of results from which on it pays.
inline constexpr std::int64_t kStreamedBytes = 32 << 20;

/// Copies `bytes` that do not overlap; `to` may have any alignment.
void stream(const void* from, void* to, std::int64_t bytes);
/// To be called by who streamed before another thread may read it.
void finish_streaming();

}  // namespace kiln::cpu::simd
