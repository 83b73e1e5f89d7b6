#include "kiln/fusion/plan_cache.hpp"

namespace kiln::fusion {
namespace {

/// Runs four chains of multiplications at once, because each multiplication waits for the previous one of its chain.
std::uint64_t hash(std::span<const std::uint64_t> words) {
  const auto mix = [](std::uint64_t mixed, std::uint64_t word) {
    mixed = (mixed ^ word) * 0x9E3779B97F4A7C15u;
    return mixed ^ mixed >> 29;
  };
  std::array<std::uint64_t, 4> chains{words.size(), 1, 2, 3};
  for (; words.size() >= chains.size(); words = words.subspan(chains.size()))
    for (std::size_t i = 0; i < chains.size(); ++i) chains[i] = mix(chains[i], words[i]);
  for (const std::uint64_t word : words) chains[0] = mix(chains[0], word);
  return mix(mix(chains[0], chains[1]), mix(chains[2], chains[3]));
}

/// Whether encode() identifies the op by an address.
bool is_named(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) { return op::Planned<T> || std::is_same_v<T, op::Custom>; });
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
  plans_.push_front({segment.key(), make_ref<const Plan>(make_plan(segment, traits_)), {}});
  for (const RecordedCall& each : segment.entries())
    if (is_named(each.op)) plans_.front().named.push_back(each.op);
  by_hash_.emplace(hashed, plans_.begin());
  return {plans_.front().plan, true};
}

}  // namespace kiln::fusion
