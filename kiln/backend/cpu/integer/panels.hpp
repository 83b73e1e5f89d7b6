// Right operands of products of 8-bit integers, in the order of tiles.hpp, with the sum of each column.
#pragma once
#include "kiln/backend/cpu/integer/tiles.hpp"
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::integer {

/// Packs matrices of taps * inner rows, which are the terms of the sums, and n columns. Element (tap, i) of a column is
/// tap * tap_step + i * inner_step bytes after its first; 128 is subtracted from unsigned elements.
struct PackPanels {
  std::int64_t n, taps, inner, column_step, tap_step, inner_step;
  bool is_unsigned;
  Shape batch;  // without dimensions along which the operand repeats
  Dims steps;

  std::int64_t depth() const { return (taps * inner + kDepth - 1) / kDepth * kDepth; }
  std::int64_t panels() const { return (n + kPanel - 1) / kPanel; }
  std::int64_t panel_size() const { return depth() * kPanel; }
  std::int64_t matrix_size() const {
    return panels() * (panel_size() + kPanel * static_cast<std::int64_t>(sizeof(std::int32_t)));
  }
  std::size_t bytes() const { return static_cast<std::size_t>(numel(batch) * matrix_size()); }
  void pack(const std::byte* from, std::byte* to) const;

  /// The panels of a matrix, followed by the sums of its columns, as packed.
  static const std::int8_t* panels_of(const std::byte* matrix) { return reinterpret_cast<const std::int8_t*>(matrix); }
  const std::int32_t* sums_of(const std::byte* matrix) const {
    return reinterpret_cast<const std::int32_t*>(matrix + panels() * panel_size());
  }

 private:
  void pack_panel(const std::uint8_t* from, std::int64_t columns, std::uint8_t* to, std::int32_t* sums) const;
};

}  // namespace kiln::cpu::integer
