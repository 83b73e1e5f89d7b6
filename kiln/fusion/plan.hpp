// Plan: what a segment becomes. Fewer operations, in an order that is as good, on the segment's values by number; so
// that it can be replayed on any segment with the same key.
#pragma once
#include "kiln/fusion/segment.hpp"

namespace kiln::fusion {

/// A number that a program computes from others: done when the plan runs, as numbers are no part of the structure. A
/// cast is what a tensor's element keeps of a number that the tensor is filled with.
struct ConstantFold {
  std::variant<op::Unary, op::Binary, op::Cast> op;
  std::array<Reference, 2> in;
  DType dtype;  // of the tensor that it would have filled
  /// The bits of the operation on tensors of that type.
  Scalar of(const std::vector<Scalar>& numbers) const;
};

struct Plan : RefCounted {
  struct Step {
    op::Op op;
    std::uint32_t entry;  // of the segment: the last that this step is made of
    SpareVector<Reference> in;
    SpareVector<std::uint32_t> out;      // values
    SpareVector<std::uint32_t> release;  // values without a handle outside that the rest of the plan does not read
  };
  std::vector<Step> steps;
  std::vector<ConstantFold> constant_folds;  // of numbers that follow the segment's own, in order
};

/// Drops values that nothing can read, and makes of the rest what `traits` say that the device has kernels for.
Plan make_plan(const Segment& segment, const FusionTraits& traits);

/// A few readable lines: each step with what it is made of.
std::string describe(const Plan& plan, const Segment& segment);

}  // namespace kiln::fusion
