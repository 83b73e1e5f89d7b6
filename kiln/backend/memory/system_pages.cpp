#include <cstdint>
#include <sys/mman.h>

#include "kiln/backend/memory/block_source.hpp"

namespace kiln {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class SystemPages final : public BlockSource {
 public:
  // The address that the system chooses may be right already, next to an earlier mapping. Otherwise address space for
  // one more huge page is mapped, and the excess on either side is unmapped.
  std::byte* map(std::size_t bytes) override {
    std::byte* start = ask(bytes);
    if (start && before_huge_page(start)) {
      ::munmap(start, bytes);
      start = ask(bytes + kHugePage);
      const std::size_t before = start ? before_huge_page(start) : 0;
      if (before) ::munmap(start, before);
      if (start) ::munmap(start + before + bytes, kHugePage - before);
      start += before;
    }
    if (!start) return nullptr;
#ifdef MADV_HUGEPAGE
    ::madvise(start, bytes, MADV_HUGEPAGE);  // only a request: without huge pages it is slower
#endif
    return start;
  }
  // The system refuses where there would be too many holes.
  bool unmap(std::byte* start, std::size_t bytes) override { return ::munmap(start, bytes) == 0; }
  bool returns_parts() const override { return true; }

 private:
  static std::byte* ask(std::size_t bytes) {
    void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
  }
  static std::size_t before_huge_page(std::byte* start) {
    return (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  }
};

}  // namespace

// Never destroyed: memory held by pools of static duration outlives everything else.
BlockSource& system_pages() {
  static SystemPages& pages = *new SystemPages;
  return pages;
}

}  // namespace kiln
