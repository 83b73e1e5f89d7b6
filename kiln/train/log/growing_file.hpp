// A file that grows by whole pieces: a piece that does not fit on the disk is left out, and what comes later is as if it had never
// been tried.
#pragma once
#include <filesystem>
#include <string_view>

namespace kiln {

class GrowingFile {
 public:
  GrowingFile() = default;
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&& other) noexcept;
  ~GrowingFile();

  /// Makes the file if need be; what is in it goes, unless it goes on. Throws IoError: "cannot write log.csv: No space left on
  /// device".
  void open(const std::filesystem::path& path, bool goes_on);
  bool is_open() const { return file_ >= 0; }
  void close();
  /// On its way to the disk, all of it, when this returns. Throws IoError, and then nothing of it is in the file.
  void append(std::string_view bytes);

 private:
  [[noreturn]] void fail_with(int error) const;

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace kiln
