#include "kiln/backend/cpu/memory/memory_limit.hpp"

#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "kiln/backend/memory/wished_limit.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cpu {
namespace {

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size) : SIZE_MAX;
}

}  // namespace

std::size_t memory_limit_at_start() { return wished_memory_limit().value_or(physical_memory()); }

bool memory_is_poisoned() { return is_set("KILN_POISON", false); }

}  // namespace kiln::cpu
