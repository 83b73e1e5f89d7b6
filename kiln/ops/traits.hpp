// What a fuser, a tape or a backend wants to know of an op without running it.
#pragma once
#include <cstdint>
#include <vector>

#include "kiln/ops/value.hpp"

namespace kiln {
class Backward;
using Values = std::vector<Value>;
/// The same for lists that come and go with each operation.
using SpareValues = SpareVector<Value>;

/// How an op touches elements.
enum class Pattern : std::uint8_t {
  Elementwise,  // result i depends on element i of each (broadcast) operand
  View,         // moves no element: reshape, permute, expand, slice
  Reduction,    // folds whole dimensions
  Contraction,  // multiplies and sums: matmul, convolution
  Creation,     // makes a tensor of plain numbers
  Composite,    // made of other ops
  Opaque,       // anything else
};

/// Ops whose kernels may find their operands' elements wrong (an index out of range, a singular matrix) say so: `static
/// constexpr bool kChecksData = true`. Others cannot fail once infer is content.
template <class Op>
inline constexpr bool kChecksData = requires { Op::kChecksData; };

/// Which operands (bit i for operand i) and whether the results must outlive the call for its gradient. An op whose
/// gradient reads any has `Saves saves(std::uint32_t tracked) const`, where bit i says that operand i has a gradient.
struct Saves {
  std::uint32_t in = 0;
  bool out = false;
};

/// Of a product of operands 0 and 1, whose gradients read each other's operand.
constexpr Saves saves_the_other(std::uint32_t tracked) { return {.in = (tracked & 1u) << 1 | (tracked >> 1 & 1u)}; }

}  // namespace kiln
