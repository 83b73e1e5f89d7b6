#include "kiln/backend/cpu/simd/recurrent/relay.hpp"

#include "kiln/core/threads/wait.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

void Relay::run(int64_t own, Work work) {
  const auto members = static_cast<int64_t>(places_.size());
  places_[static_cast<std::size_t>(own)].has_come.store(true, std::memory_order_relaxed);
  for (int64_t step = done_.load(std::memory_order_acquire) / members; step < steps_; ++step) {
    const int64_t end = (step + 1) * members;
    do_item(step, static_cast<std::size_t>(own), work);
    bool looks = true;
    for (Wait wait; !is_over(own, end);) {
      // First what belongs to those that are not there; after a while what others have not begun.
      const bool all = wait.yields() || alone_.load(std::memory_order_relaxed) == own;
      for (std::size_t item = 0; item < places_.size() && (looks || all); ++item)
        if (all || !places_[item].has_come.load(std::memory_order_relaxed)) do_item(step, item, work);
      looks = false;
      int64_t nobody = kNobody;
      if (!wait.pause()) alone_.compare_exchange_strong(nobody, own, std::memory_order_relaxed);
    }
    if (leaves(own)) return;
  }
}

/// Unless somebody has.
void Relay::do_item(int64_t step, std::size_t item, Work work) {
  int64_t expected = step;
  std::atomic<int64_t>& taken = places_[item].taken;
  if (taken.load(std::memory_order_relaxed) != step ||
      !taken.compare_exchange_strong(expected, step + 1, std::memory_order_relaxed))
    return;
  try {
    work(step, static_cast<int64_t>(item));
  } catch (...) {
    has_failed_.store(true, std::memory_order_relaxed);
    throw;
  }
  done_.fetch_add(1, std::memory_order_release);
}

bool Relay::is_over(int64_t own, int64_t end) const {
  return done_.load(std::memory_order_acquire) >= end || leaves(own);
}

bool Relay::leaves(int64_t own) const {
  const int64_t alone = alone_.load(std::memory_order_relaxed);
  return has_failed_.load(std::memory_order_relaxed) || (alone != kNobody && alone != own);
}

}  // namespace kiln::cpu::simd
