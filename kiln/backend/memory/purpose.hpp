// The purpose of a memory block, given by the code that allocates it.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln {

/// Every block starts at a multiple of this: a cache line, and the widest SIMD vector.
inline constexpr std::size_t kAlignment = 64;

enum class MemoryUse : std::uint8_t { Upload, Result, Scratch, Packed };
struct Purpose {
  MemoryUse use = MemoryUse::Scratch;
  const Desc* desc = nullptr;  // the tensor that it will hold; null if it is no tensor
};

}  // namespace kiln
