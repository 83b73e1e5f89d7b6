// A file to which complete pieces are appended: a piece that does not fit on the disk is removed again, so that later
// ones are valid.
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

  /// Opens the file, or creates it; unless `goes_on`, its contents are removed. Throws IoError: "cannot write log.csv:
  /// No space left on device".
  void open(const std::filesystem::path& path, bool goes_on);
  bool is_open() const { return file_ >= 0; }
  void close();
  /// The bytes are handed to the system, all of them, when this returns. If it throws IoError, none of them are in the
  /// file.
  void append(std::string_view bytes);

 private:
  [[noreturn]] void fail_with(int error) const;

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace kiln
