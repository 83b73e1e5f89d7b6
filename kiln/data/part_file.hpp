// The partial file of a download, locked so that only one process writes to it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace kiln {

/// Opens or creates the file and waits for its lock, which is released with the object. All functions throw IoError.
class PartFile {
 public:
  explicit PartFile(std::filesystem::path path);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  std::int64_t size() const { return size_; }
  void append(std::span<const std::byte> bytes);
  void clear();
  std::string sha256() const;
  void remove();
  /// Gives the file its final name, after its bytes are on disk.
  void publish(const std::filesystem::path& target);

 private:
  [[noreturn]] void fail_io(const char* action) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace kiln
