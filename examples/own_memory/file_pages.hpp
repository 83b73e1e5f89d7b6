// Memory of tensors that lies in a file.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kiln/backend/memory/memory_options.hpp"
#include "kiln/core/error/error.hpp"

/// Pages of a file without a name, in a folder: on a fast disk, a program may have more numbers than the machine has
/// memory, and the system writes to the disk what is used least.
class FilePages final : public kiln::BlockSource {
 public:
  /// Throws IoError.
  explicit FilePages(const std::filesystem::path& folder) {
    std::string name = (folder / "tensors-XXXXXX").string();
    file_ = ::mkstemp(name.data());
    kiln::require<kiln::IoError>(file_ >= 0, "no file can be made in ", folder.string());
    ::unlink(name.c_str());  // it ends with the program
  }
  FilePages(const FilePages&) = delete;
  FilePages& operator=(const FilePages&) = delete;
  ~FilePages() override { ::close(file_); }

  std::byte* map(std::size_t bytes) override {
    if (::ftruncate(file_, static_cast<off_t>(size_ + bytes)) != 0) return nullptr;  // the disk is full
    void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(size_));
    if (start == MAP_FAILED) return nullptr;
    size_ += bytes;
    return static_cast<std::byte*>(start);
  }
  // Pages that are not mapped any more stay in the file until the program ends.
  bool unmap(std::byte* start, std::size_t bytes) override { return ::munmap(start, bytes) == 0; }
  // Mappings do not begin at multiples of 2 MiB, which a source that takes parts back has to grant.
  bool returns_parts() const override { return false; }

  std::size_t size() const { return size_; }

 private:
  int file_ = -1;
  std::size_t size_ = 0;
};
