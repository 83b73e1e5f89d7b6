#include "kiln/backend/cpu/memory/memory_limit.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cpu {
namespace {

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size) : SIZE_MAX;
}

}  // namespace

std::size_t memory_limit_at_start() {
  const char* const wish = setting("KILN_MEMORY_LIMIT");
  if (!wish) return physical_memory();
  char* end = nullptr;
  errno = 0;
  unsigned long long bytes = '0' <= *wish && *wish <= '9' ? std::strtoull(wish, &end, 10) : 0;
  bool understood = bytes > 0 && errno == 0;
  if (understood && *end) {
    const std::size_t unit = std::string_view("KMGT").find(*end);
    understood = unit != std::string_view::npos && end[1] == 0 &&
                 !__builtin_mul_overflow(bytes, 1ull << 10 * (unit + 1), &bytes);
  }
  require<ArgumentError>(understood, "KILN_MEMORY_LIMIT must be a number of bytes like 1500000000, 512M or 2G, got '",
                         shown(wish), "'");
  return bytes;
}

bool memory_is_poisoned() {
  const char* const wish = setting("KILN_POISON");
  const std::string_view text = wish ? wish : "";
  require<ArgumentError>(text.empty() || text == "0" || text == "1", "KILN_POISON must be 0 or 1, got '", text, "'");
  return text == "1";
}

}  // namespace kiln::cpu
