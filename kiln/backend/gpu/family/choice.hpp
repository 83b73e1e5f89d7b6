// Families ask Choices here which of several kernels is the quickest.
#pragma once
#include <algorithm>
#include <bit>

#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// The digits of a size in binary: sizes that are alike in them are the same work.
inline int digits_of(std::int64_t size) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(size - 1, 0)));
}

/// The number of the way to take, of those called `names`: the first, unless another is known to be the quickest, or is
/// measured to be. run(i) launches one; those that the device refuses are left out.
inline std::size_t chosen(Gpu& gpu, const std::string& question, std::span<const std::string> names,
                          FunctionRef<void(std::size_t)> run) {
  return static_cast<std::size_t>(gpu.choices().choose(question, names, [&](int i) {
    try {
      run(static_cast<std::size_t>(i));
    } catch (const Refused&) { return false; }
    return true;
  }));
}

}  // namespace kiln::gpu::family
