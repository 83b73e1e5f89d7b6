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
  Lookup,       // takes what indices name out of operand 0, of which no more is read than is written
  Composite,    // made of other ops
  Opaque,       // anything else
};

/// The element types that Autocast gives an op.
enum class AutocastTo : std::uint8_t {
  Half,          // float32 operands become the scope's half type: contractions
  Single,        // half operands become float32: long sums, exponentials
  Same,          // as they come
  ByAttributes,  // the op has `AutocastTo autocast_to() const`
};

/// What an op's time goes to.
enum class Bound : std::uint8_t {
  Memory,   // reading its operands and writing its results, or not much more: cheap to run again
  Compute,  // arithmetic: the op has `double flops(Inputs in, Inputs out) const`, multiplications and additions
  Other,    // comparisons, functions of many instructions, steps that wait for each other
};

/// Does an op make index i of dimension `axis` of its results from index i of its operands (which may broadcast along
/// it), so that it can be run on some rows at a time, the same op on smaller tensors?
enum class Rows : std::uint8_t {
  Each,          // along every dimension
  None,          // not, or not looked into yet
  ByAttributes,  // the op has `bool goes_by_rows(int axis) const`
};

/// What may go wrong once infer is content.
enum class MayFail : std::uint8_t {
  Never,      // nothing, but for want of memory
  OnData,     // a kernel may find its operands' elements wrong: an index out of range, a singular matrix
  WithRanks,  // other ranks, which it waits for: it runs once, whoever reads its result, in the order it was asked for
};

/// What every op says of itself. None has a default: who adds an op, or a fact, is asked.
struct Facts {
  constexpr Facts(Pattern pattern, AutocastTo autocast, Bound bound, Rows rows, MayFail may_fail)
      : pattern(pattern), autocast(autocast), bound(bound), rows(rows), may_fail(may_fail) {}

  Pattern pattern;
  AutocastTo autocast;
  Bound bound;
  Rows rows;
  MayFail may_fail;
};

template <class Op>
AutocastTo autocast_of(const Op& op) {
  if constexpr (Op::kFacts.autocast == AutocastTo::ByAttributes) return op.autocast_to();
  else return Op::kFacts.autocast;
}
template <class Op>
bool goes_by_rows(const Op& op, int axis) {
  if constexpr (Op::kFacts.rows == Rows::ByAttributes) return op.goes_by_rows(axis);
  else return Op::kFacts.rows == Rows::Each;
}
template <class Op>
double flops_of(const Op& op, Inputs in, Inputs out) {
  if constexpr (Op::kFacts.bound == Bound::Compute) return op.flops(in, out);
  else return 0;
}

/// Which operands (bit i for operand i) and whether the results must outlive the call for its gradient. An op whose
/// gradient reads any has `Saves saves(std::uint32_t tracked) const`, where bit i says that operand i has a gradient.
struct Saves {
  std::uint32_t in = 0;
  bool out = false;
};

/// Of a product of operands 0 and 1, whose gradients read each other's operand.
constexpr Saves saves_the_other(std::uint32_t tracked) { return {.in = (tracked & 1u) << 1 | (tracked >> 1 & 1u)}; }

}  // namespace kiln
