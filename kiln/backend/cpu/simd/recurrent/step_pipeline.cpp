#include "kiln/backend/cpu/simd/recurrent/step_pipeline.hpp"

#include <algorithm>

#include "kiln/core/threads/wait.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

void StepPipeline::run(int64_t own, Work work) {
  Member& self = members_[static_cast<std::size_t>(own)];
  self.has_arrived.store(true, std::memory_order_relaxed);
  for (int64_t step = finished_steps(); step < steps_; ++step) {
    do_item(step, self, work);
    bool looks = true;
    Wait wait;
    for (Member& member : members_)
      while (member.finished.load(std::memory_order_acquire) <= step) {
        if (must_leave(own)) return;
        // Take the items of members that have not come yet; after a while also items that others have not begun.
        const bool all = wait.yields() || sole_member_.load(std::memory_order_relaxed) == own;
        if (looks || all)
          for (Member& other : members_)
            if (all || !other.has_arrived.load(std::memory_order_relaxed)) do_item(step, other, work);
        looks = false;
        int64_t nobody = kNoMember;
        if (!wait.pause()) sole_member_.compare_exchange_strong(nobody, own, std::memory_order_relaxed);
      }
    if (must_leave(own)) return;
  }
}

/// Runs the item of `member` in this step unless a thread has already taken it.
void StepPipeline::do_item(int64_t step, Member& member, Work work) {
  int64_t expected = step;
  if (member.claimed.load(std::memory_order_relaxed) != step ||
      !member.claimed.compare_exchange_strong(expected, step + 1, std::memory_order_relaxed))
    return;
  try {
    work(step, &member - members_.data());
  } catch (...) {
    has_failed_.store(true, std::memory_order_relaxed);
    throw;
  }
  member.finished.store(step + 1, std::memory_order_release);
}

int64_t StepPipeline::finished_steps() const {
  int64_t steps = steps_;
  for (const Member& member : members_) steps = std::min(steps, member.finished.load(std::memory_order_acquire));
  return steps;
}

bool StepPipeline::must_leave(int64_t own) const {
  const int64_t alone = sole_member_.load(std::memory_order_relaxed);
  return has_failed_.load(std::memory_order_relaxed) || (alone != kNoMember && alone != own);
}

}  // namespace kiln::cpu::simd
