// The file that a download grows in: locked, so that several processes do not write it at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace kiln {

/// Opens or makes the file and waits for its lock, which goes with the object. All throw IoError.
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
  /// Gives the file its final name, once its bytes are on the disk.
  void publish(const std::filesystem::path& target);

 private:
  [[noreturn]] void fail_io(const char* action) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace kiln
