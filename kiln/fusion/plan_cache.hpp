// A cache of plans by the structure of their segments; the plans that were used last stay.
#pragma once
#include <list>
#include <unordered_map>

#include "kiln/core/mutex.hpp"
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// All plans are for one device, so its traits are not part of the keys. Any number of threads may call it.
class PlanCache {
 public:
  static constexpr std::size_t kCapacity = 256;

  explicit PlanCache(const FusionTraits& traits) : traits_(traits) {}

  /// Returns the plan for a closed segment, and whether it is new.
  std::pair<Ref<const Plan>, bool> find_or_make(const Segment& segment);

 private:
  struct CachedPlan {
    std::vector<std::uint64_t> key;
    Ref<const Plan> plan;
    std::vector<op::Op> named;  // ops whose addresses are in the key: kept alive, so that no other op gets them
  };
  const FusionTraits& traits_;
  Mutex mutex_;
  std::list<CachedPlan> plans_;  // the most recently used one is first
  std::unordered_multimap<std::uint64_t, std::list<CachedPlan>::iterator> by_hash_;
};

}  // namespace kiln::fusion
