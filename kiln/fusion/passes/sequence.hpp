// Steps of a plan that become one step, for the passes that make ops of several steps.
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
  /// `sequence` is filled; it has no steps yet.
  SequenceBuilder(const Segment& segment, op::Sequence& sequence) : segment_(segment), sequence_(sequence) {}

  /// Adds the next step. Its results that `is_read` by steps outside the sequence, or that the program sees, become results
  /// of the whole.
  void add(const Plan::Step& step, FunctionRef<bool(std::uint32_t result)> is_read);
  /// The step in place of those that were added, of an op that runs the sequence.
  Plan::Step finish(op::Op op) &&;

 private:
  const Segment& segment_;
  op::Sequence& sequence_;
  std::uint32_t entry_ = 0;
  SpareVector<Reference> in_;
  SpareVector<std::uint32_t> out_;
  std::map<std::uint32_t, std::uint16_t> made_;  // which result a value is
};

}  // namespace kiln::fusion
