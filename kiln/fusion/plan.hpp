// Plan: what a segment becomes. Fewer operations, in an order that is as good, on the segment's values by number; so
// that it can be replayed on any segment with the same key.
#pragma once
#include "kiln/fusion/segment.hpp"

namespace kiln::fusion {

struct Plan : RefCounted {
  struct Step {
    op::Op op;
    std::uint32_t entry;  // of the segment: the last that this step is made of
    std::vector<Reference> in;
    std::vector<std::uint32_t> out;      // values
    std::vector<std::uint32_t> release;  // values that nothing further in the plan reads
  };
  std::vector<Step> steps;
};

/// Drops what nobody will see and groups elementwise operations into op::Fused.
Plan make_plan(const Segment& segment);

/// A few readable lines: each step with what it is made of.
std::string describe(const Plan& plan, const Segment& segment);

}  // namespace kiln::fusion
