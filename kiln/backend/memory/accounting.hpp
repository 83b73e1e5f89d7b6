// An allocator's statistics: how much is in use, for what, and who holds the most. Its owner does the locking.
#pragma once
#include <array>
#include <unordered_map>

#include "kiln/backend/memory/purpose.hpp"

namespace kiln {

class MemoryAccounting {
 public:
  /// Blocks of at least this size are recorded one by one: compared with the time to fill one, that costs nothing.
  static constexpr std::size_t kLarge = std::size_t{1} << 20;

  void record_acquire(const std::byte* block, std::size_t bytes, const Purpose& purpose);
  void record_release(const std::byte* block, std::size_t bytes, MemoryUse use);
  void count_system_request() { ++system_requests_; }
  void reset_peak() { peak_ = in_use_; }
  std::size_t in_use() const { return in_use_; }

  MemoryStatistics statistics(std::size_t reserved, std::size_t limit) const;
  /// The text of memory_report().
  std::string report(std::size_t reserved, std::size_t limit) const;

 private:
  struct Holder {
    std::size_t bytes;
    MemoryUse use;
    bool is_tensor;
    Desc desc;
  };
  std::size_t in_use_ = 0, peak_ = 0;
  std::array<std::size_t, 4> by_use_{};
  std::int64_t requests_ = 0, system_requests_ = 0;
  std::unordered_map<const std::byte*, Holder> large_;
};

}  // namespace kiln
