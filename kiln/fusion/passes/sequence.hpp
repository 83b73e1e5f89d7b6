// Joins steps of a plan into one step, for the passes that create ops of several steps.
#pragma once
#include <cstdint>
#include <map>

#include "kiln/core/function_ref.hpp"
#include "kiln/fusion/plan.hpp"
#include "kiln/fusion/segment.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {

class SequenceBuilder {
 public:
  /// Fills `sequence`, which has no steps yet.
  SequenceBuilder(const Segment& segment, op::Sequence& sequence) : segment_(segment), sequence_(sequence) {}

  /// Adds the next step. Its results that steps outside the sequence read (`is_read`), or that the program can see,
  /// become results of the whole.
  void add(const PlanStep& step, FunctionRef<bool(std::uint32_t result)> is_read);
  /// Returns the step that replaces those that were added. `op` runs the sequence.
  PlanStep finish(op::Op op) &&;

 private:
  const Segment& segment_;
  op::Sequence& sequence_;
  std::uint32_t entry_ = 0;
  SpareVector<Reference> in_;
  SpareVector<std::uint32_t> out_;
  std::map<std::uint32_t, std::uint16_t> made_;  // the index of each value among the results
};

}  // namespace kiln::fusion
