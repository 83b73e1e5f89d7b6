// The order in which the tiles of matrix products read a convolution's weight.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/backend/cpu/pieces.hpp"

namespace kiln::cpu::conv {

/// Packs a weight [out, in, kernel] of float32 in panels of channels; each panel has one row for each number of a
/// window.
struct PackPanels {
  std::int64_t out, in, kernel, panel;

  std::int64_t count() const { return divide_up(out, panel); }
  std::int64_t size() const { return kernel * in * panel; }
  std::size_t bytes() const { return static_cast<std::size_t>(count() * size()) * sizeof(float); }

  void pack(const std::byte* from, std::byte* to) const;
  /// Packs panel `index` only.
  void pack(const float* from, std::int64_t index, float* to) const;
};

}  // namespace kiln::cpu::conv
