// Properties of an op that fusion, the tape and backends need without running it.
#pragma once
#include <cstdint>
#include <vector>

#include "kiln/ops/scope/float32_precision.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {
class Backward;
using Values = std::vector<Value>;
/// A list of values whose memory is reused, for lists that are created with each operation.
using SpareValues = SpareVector<Value>;

/// How an op accesses elements.
enum class Pattern : std::uint8_t {
  Elementwise,  // result i depends on element i of each (broadcast) operand
  View,         // moves no element: reshape, permute, expand, slice
  Reduction,    // reduces whole dimensions
  Contraction,  // multiplies and sums: matmul, convolution
  Creation,     // creates a tensor from plain numbers
  Lookup,       // copies indexed elements of operand 0; it reads no more of it than it writes
  Composite,    // composed of other ops
  Opaque,       // anything else
};

/// The element types that Autocast gives an op.
enum class AutocastTo : std::uint8_t {
  Half,          // float32 operands become the scope's half type: contractions
  Single,        // half operands become float32: long sums, exponentials
  Same,          // unchanged
  ByAttributes,  // the op has `AutocastTo autocast_to() const`
};

/// What an op's time depends on.
enum class Bound : std::uint8_t {
  Memory,   // reading its operands and writing its results, or not much more: cheap to run again
  Compute,  // arithmetic: the op has `double flops(Inputs in, Inputs out) const`, multiplications and additions
  Other,    // comparisons, functions of many instructions, sequential steps
};

/// Whether index i of dimension `axis` of the results depends only on index i of the operands (which may broadcast
/// along it), so that the same op can run on some rows at a time, as on smaller tensors.
enum class Rows : std::uint8_t {
  Each,          // along every dimension
  None,          // no, or not examined yet
  ByAttributes,  // the op has `bool is_row_wise(int axis) const`
};

/// What may go wrong after infer has accepted the operands.
enum class MayFail : std::uint8_t {
  Never,      // nothing but a lack of memory
  OnData,     // a kernel may find its operands' elements wrong: an index out of range, a singular matrix
  WithRanks,  // other ranks, for which it waits: it runs exactly once, read or not, in the order of the calls
};

/// The properties that every op declares. None has a default, so that no new op and no new property can be forgotten.
struct OpTraits {
  constexpr OpTraits(Pattern pattern, AutocastTo autocast, Bound bound, Rows rows, MayFail may_fail)
      : pattern(pattern), autocast(autocast), bound(bound), rows(rows), may_fail(may_fail) {}

  Pattern pattern;
  AutocastTo autocast;
  Bound bound;
  Rows rows;
  MayFail may_fail;
};

template <class Op>
AutocastTo autocast_of(const Op& op) {
  if constexpr (Op::kTraits.autocast == AutocastTo::ByAttributes) return op.autocast_to();
  else return Op::kTraits.autocast;
}
template <class Op>
bool is_row_wise(const Op& op, int axis) {
  if constexpr (Op::kTraits.rows == Rows::ByAttributes) return op.is_row_wise(axis);
  else return Op::kTraits.rows == Rows::Each;
}
template <class Op>
double flops_of(const Op& op, Inputs in, Inputs out) {
  if constexpr (Op::kTraits.bound == Bound::Compute) return op.flops(in, out);
  else return 0;
}

/// The operands (bit i for operand i), and whether also the results, that must outlive the call for its gradient. An op
/// whose gradient reads any has `Saves saves(std::uint32_t tracked) const`, where bit i says that operand i has a
/// gradient.
struct Saves {
  std::uint32_t in = 0;
  bool out = false;
};

/// For a product of operands 0 and 1, whose gradients read each other's operand.
constexpr Saves saves_the_other(std::uint32_t tracked) { return {.in = (tracked & 1u) << 1 | (tracked >> 1 & 1u)}; }

}  // namespace kiln
