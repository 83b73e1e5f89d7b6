#include <cstdint>
#include <sys/mman.h>

#include "kiln/backend/memory/block_source.hpp"

namespace kiln {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class SystemPages final : public BlockSource {
 public:
  // Address space for one huge page more is asked for, and what sticks out on either side is given back.
  std::byte* map(std::size_t bytes) override {
    void* address = ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    auto* start = static_cast<std::byte*>(address);
    const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
    if (before) ::munmap(start, before);
    if (before < kHugePage) ::munmap(start + before + bytes, kHugePage - before);
    start += before;
#ifdef MADV_HUGEPAGE
    ::madvise(start, bytes, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
#endif
    return start;
  }
  // It refuses where it wants to count no more holes.
  bool unmap(std::byte* start, std::size_t bytes) override { return ::munmap(start, bytes) == 0; }
  bool returns_parts() const override { return true; }
};

}  // namespace

// Never destroyed: what pools of static duration hold outlives everything else.
BlockSource& system_pages() {
  static SystemPages& pages = *new SystemPages;
  return pages;
}

}  // namespace kiln
