#include "kiln/core/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"

namespace kiln {

FileBytes map_file(const std::string& path) try {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  const bool regular = file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const place = regular ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (file >= 0) ::close(file);  // the mapping stays valid
  if (place != MAP_FAILED) {
    const std::shared_ptr<const void> owner(place, [size](void* mapped) { ::munmap(mapped, size); });
    return {{static_cast<const std::byte*>(place), size}, path, owner, true};
  }
  // read_file() reports why a file cannot be read at all.
  const auto read = std::make_shared<const std::vector<std::byte>>(read_file(path));
  return {*read, path, read, false};
} catch (...) { rethrow_as_memory_error(path); }

void forget_pages(const FileBytes& file, std::span<const std::byte> part) {
  if (!file.mapped) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t begin = (first + page - 1) / page * page, end = (first + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace kiln
