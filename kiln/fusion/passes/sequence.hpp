// Steps of a plan that become one op::Blocked, for the passes that make such.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "kiln/core/function_ref.hpp"
#include "kiln/fusion/plan.hpp"
#include "kiln/fusion/segment.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {

class SequenceBuilder {
 public:
  /// `frame` says how it is cut; it has no steps yet.
  SequenceBuilder(const Segment& segment, std::shared_ptr<op::Sequence> frame)
      : segment_(segment), sequence_(std::move(frame)) {}

  /// The next step, whose ops `inner` has. Results that `is_read` by others, or that the program sees, become those of all.
  void add(const Plan::Step& step, op::Sequence::Step inner, FunctionRef<bool(std::uint32_t result)> is_read);
  Plan::Step finish() && { return std::move(group_); }

 private:
  const Segment& segment_;
  std::shared_ptr<op::Sequence> sequence_;
  Plan::Step group_{op::Blocked{sequence_}, 0, {}, {}, {}};
  std::map<std::uint32_t, std::uint16_t> made_;  // which result a value is
};

}  // namespace kiln::fusion
