#include "kiln/backend/memory/environment_limit.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln {

std::optional<std::size_t> environment_memory_limit() {
  const char* const wish = setting("KILN_MEMORY_LIMIT");
  if (!wish) return std::nullopt;
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
  return static_cast<std::size_t>(std::min<unsigned long long>(bytes, SIZE_MAX));
}

}  // namespace kiln
