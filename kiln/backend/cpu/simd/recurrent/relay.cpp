#include "kiln/backend/cpu/simd/recurrent/relay.hpp"

#include <algorithm>

#include "kiln/core/threads/wait.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

void Relay::run(int64_t own, Work work) {
  Place& own_place = places_[static_cast<std::size_t>(own)];
  own_place.has_come.store(true, std::memory_order_relaxed);
  for (int64_t step = whole(); step < steps_; ++step) {
    do_item(step, own_place, work);
    bool looks = true;
    Wait wait;
    for (Place& place : places_)
      while (place.done.load(std::memory_order_acquire) <= step) {
        if (leaves(own)) return;
        // Take the items of members that have not come yet; after a while also items that others have not begun.
        const bool all = wait.yields() || alone_.load(std::memory_order_relaxed) == own;
        if (looks || all)
          for (Place& other : places_)
            if (all || !other.has_come.load(std::memory_order_relaxed)) do_item(step, other, work);
        looks = false;
        int64_t nobody = kNobody;
        if (!wait.pause()) alone_.compare_exchange_strong(nobody, own, std::memory_order_relaxed);
      }
    if (leaves(own)) return;
  }
}

/// Runs the item of `place` in this step unless a thread has already taken it.
void Relay::do_item(int64_t step, Place& place, Work work) {
  int64_t expected = step;
  if (place.taken.load(std::memory_order_relaxed) != step ||
      !place.taken.compare_exchange_strong(expected, step + 1, std::memory_order_relaxed))
    return;
  try {
    work(step, &place - places_.data());
  } catch (...) {
    has_failed_.store(true, std::memory_order_relaxed);
    throw;
  }
  place.done.store(step + 1, std::memory_order_release);
}

int64_t Relay::whole() const {
  int64_t steps = steps_;
  for (const Place& place : places_) steps = std::min(steps, place.done.load(std::memory_order_acquire));
  return steps;
}

bool Relay::leaves(int64_t own) const {
  const int64_t alone = alone_.load(std::memory_order_relaxed);
  return has_failed_.load(std::memory_order_relaxed) || (alone != kNobody && alone != own);
}

}  // namespace kiln::cpu::simd
