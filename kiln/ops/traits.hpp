// What a fuser, a tape or a backend wants to know of an op without running it.
#pragma once
#include <cstdint>
#include <vector>

#include "kiln/ops/node.hpp"

namespace kiln {
class Backward;
using Values = std::vector<Value>;

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

/// Which operands (bit i for operand i) and whether the results must outlive the call for its gradient.
struct Saves {
  std::uint32_t in = 0;
  bool out = false;
};

}  // namespace kiln
