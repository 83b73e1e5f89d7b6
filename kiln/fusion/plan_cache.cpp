#include "kiln/fusion/plan_cache.hpp"

namespace kiln::fusion {
namespace {

std::uint64_t hash(std::span<const std::uint64_t> words) {
  std::uint64_t mixed = words.size();
  for (const std::uint64_t word : words) {
    mixed = (mixed ^ word) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

}  // namespace

std::pair<Ref<const Plan>, bool> PlanCache::find_or_make(const Segment& segment) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t hashed = hash(segment.key());
  auto [entry, end] = by_hash_.equal_range(hashed);
  for (; entry != end; ++entry) {
    if (entry->second->key != segment.key()) continue;
    plans_.splice(plans_.begin(), plans_, entry->second);
    return {plans_.front().plan, false};
  }
  if (plans_.size() == kCapacity) {
    const auto oldest = std::prev(plans_.end());
    auto [at, last] = by_hash_.equal_range(hash(oldest->key));
    while (at != last && at->second != oldest) ++at;
    by_hash_.erase(at);
    plans_.erase(oldest);
  }
  plans_.push_front({segment.key(), make_ref<const Plan>(make_plan(segment))});
  by_hash_.emplace(hashed, plans_.begin());
  return {plans_.front().plan, true};
}

}  // namespace kiln::fusion
