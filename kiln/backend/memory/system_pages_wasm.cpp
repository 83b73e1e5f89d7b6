// The memory of a WebAssembly module, which grows and never shrinks: what is given back goes to the module's malloc, whose other
// users are the program's own objects.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "kiln/backend/memory/block_source.hpp"
#include "kiln/core/mutex.hpp"

namespace kiln {
namespace {

constexpr std::size_t kUnit = std::size_t{2} << 20;

class SystemPages final : public BlockSource {
 public:
  std::byte* map(std::size_t bytes) override {
    auto* const start = static_cast<std::byte*>(std::aligned_alloc(kUnit, bytes));
    if (!start) return nullptr;
    const std::lock_guard lock(mutex_);
    try {
      mapped_.emplace(start, bytes);
      return start;
    } catch (const std::bad_alloc&) {
      std::free(start);
      return nullptr;
    }
  }
  // A range may join several results of map(); malloc takes back whole ones alone.
  bool unmap(std::byte* start, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const auto first = mapped_.find(start);
    auto last = first;
    std::size_t found = 0;
    for (; last != mapped_.end() && found < bytes && last->first == start + found; ++last) found += last->second;
    if (found != bytes) return false;
    for (auto each = first; each != last; each = mapped_.erase(each)) std::free(each->first);
    return true;
  }
  bool returns_parts() const override { return true; }

 private:
  Mutex mutex_;  // a pool calls with a lock of its own, and there are several pools
  std::map<std::byte*, std::size_t> mapped_;
};

}  // namespace

// Never destroyed: memory held by pools of static duration outlives everything else.
BlockSource& system_pages() {
  static SystemPages& pages = *new SystemPages;
  return pages;
}

}  // namespace kiln
