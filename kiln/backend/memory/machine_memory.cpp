#include "kiln/backend/memory/machine_memory.hpp"

#include <unistd.h>

#include <cstdint>

namespace kiln {

std::size_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size) : SIZE_MAX;
}

}  // namespace kiln
