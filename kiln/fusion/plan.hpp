// Plan: the steps that a segment becomes. They are fewer operations in an equivalent order, and refer to the segment's
// values by index, so that the plan can run on any segment with the same key.
#pragma once
#include "kiln/fusion/segment.hpp"

namespace kiln::fusion {

/// A number that a program computes from other numbers. It is computed when the plan runs, because the values of
/// numbers are not part of the structure. A cast gives what an element keeps of the number that fills its tensor.
struct ConstantFold {
  std::variant<op::Unary, op::Binary, op::Cast> op;
  std::array<Reference, 2> in;
  DType dtype;  // the type of the tensor that it would have filled
  /// Returns the bits that the operation gives on tensors of that type.
  Scalar of(const std::vector<Scalar>& numbers) const;
};

struct PlanStep {
  op::Op op;
  std::uint32_t last_entry;  // of the segment, among those that this step is made of
  SpareVector<Reference> in;
  SpareVector<std::uint32_t> out;      // values
  SpareVector<std::uint32_t> release;  // values without a handle outside that the rest of the plan does not read
};

struct Plan : RefCounted {
  std::vector<PlanStep> steps;
  std::vector<ConstantFold> constant_folds;  // their results follow the segment's own numbers, in order
};

/// Drops values that nothing can read, and turns the rest into operations for which the device has kernels (`traits`).
Plan make_plan(const Segment& segment, const FusionTraits& traits);

/// Returns a few readable lines: each step with its results.
std::string describe(const Plan& plan, const Segment& segment);

}  // namespace kiln::fusion
