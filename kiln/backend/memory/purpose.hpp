// What a block of memory is for, as the place that allocates it says.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln {

/// Every block starts at a multiple of this: a cache line, and the widest SIMD vector.
inline constexpr std::size_t kAlignment = 64;

enum class MemoryUse : std::uint8_t { Upload, Result, Scratch, Packed };
struct Purpose {
  MemoryUse use = MemoryUse::Scratch;
  const Desc* desc = nullptr;  // of the tensor that it will hold, where it is one
};

}  // namespace kiln
