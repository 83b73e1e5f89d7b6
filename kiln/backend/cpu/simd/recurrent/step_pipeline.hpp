// Runs steps on several threads with a barrier between them: no step begins before all items of the last one are done.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "kiln/core/function_ref.hpp"

namespace kiln::cpu::simd {

/// Runs steps that have one item for each member. A member does its own item of each step, so that the item's data stay
/// in the cache of its core. The item of a member that has not come yet, or that other work delays, is done by another
/// member. So no number of threads is needed, and members wait only for a thread that is in the middle of an item. If
/// such a wait takes a millisecond, there are fewer cores than threads: the member that waited then goes on alone, and
/// the others leave.
class StepPipeline {
 public:
  using Work = FunctionRef<void(std::int64_t step, std::int64_t item)>;

  StepPipeline(std::int64_t members, std::int64_t steps) : members_(static_cast<std::size_t>(members)), steps_(steps) {}

  /// Takes part as member `own`, beginning with the step that the others are at. Returns when all steps are done, or
  /// when another member goes on alone. If `work` throws, the exception leaves run() in that thread, and the calls of
  /// the other threads return soon.
  void run(std::int64_t own, Work work);

 private:
  static constexpr std::int64_t kNoMember = -1;

  /// The state of one member, in a cache line of its own: a counter that all threads write would move between their
  /// caches.
  struct alignas(64) Member {
    std::atomic<bool> has_arrived = false;
    std::atomic<std::int64_t> claimed = 0, finished = 0;  // the number of steps whose item is taken, and is done
  };

  void do_item(std::int64_t step, Member& member, Work work);
  /// The number of steps of which all items are done.
  std::int64_t finished_steps() const;
  bool must_leave(std::int64_t own) const;

  std::vector<Member> members_;
  const std::int64_t steps_;
  alignas(64) std::atomic<std::int64_t> sole_member_ = kNoMember;  // the member that goes on alone
  std::atomic<bool> has_failed_ = false;
};

}  // namespace kiln::cpu::simd
