// Threads that go through steps together: nobody begins a step before the last one is whole.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "kiln/core/function_ref.hpp"

namespace kiln::cpu::simd {

/// Steps of as many items as there are members. A member does its own item of each step, which so stays in its core's
/// cache. What belongs to a member that has not come yet, or that other work keeps away, is done by another: no number
/// of threads is needed, and none is waited for but one that is in the middle of an item. Where that takes a millisecond
/// there are fewer cores than threads: whoever has waited goes on alone, and the others leave.
class Relay {
 public:
  using Work = FunctionRef<void(std::int64_t step, std::int64_t item)>;

  Relay(std::int64_t members, std::int64_t steps) : places_(static_cast<std::size_t>(members)), steps_(steps) {}

  /// Takes part as member `own`, from the step that the others have come to; returns when all steps are done. Once `work`
  /// has thrown in one thread, it returns soon in the others.
  void run(std::int64_t own, Work work);

 private:
  static constexpr std::int64_t kNobody = -1;

  /// In a cache line of its own: what all count in one place, each has to take from all others.
  struct alignas(64) Place {
    std::atomic<bool> has_come = false;
    std::atomic<std::int64_t> taken = 0, done = 0;  // steps whose item somebody has taken, and has done
  };

  void do_item(std::int64_t step, Place& place, Work work);
  /// Steps that are whole.
  std::int64_t whole() const;
  bool leaves(std::int64_t own) const;

  std::vector<Place> places_;
  const std::int64_t steps_;
  alignas(64) std::atomic<std::int64_t> alone_ = kNobody;  // who goes on alone
  std::atomic<bool> has_failed_ = false;
};

}  // namespace kiln::cpu::simd
