// Plans by the structure of the segments that they are for; those used last stay.
#pragma once
#include <list>
#include <unordered_map>

#include "kiln/core/mutex.hpp"
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// All plans are for one device, so that its traits are no part of their keys. Any number of threads may ask.
class PlanCache {
 public:
  static constexpr std::size_t kCapacity = 256;

  explicit PlanCache(const FusionTraits& traits) : traits_(traits) {}

  /// The plan for a closed segment, and whether it is new.
  std::pair<Ref<const Plan>, bool> find_or_make(const Segment& segment);

 private:
  struct Entry {
    std::vector<std::uint64_t> key;
    Ref<const Plan> plan;
    std::vector<op::Op> named;  // whose addresses are in the key: while it is known, nothing else has them
  };
  const FusionTraits& traits_;
  Mutex mutex_;
  std::list<Entry> plans_;  // the one used last is first
  std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> by_hash_;
};

}  // namespace kiln::fusion
