// Files of the host: reads whole files, and replaces a file so that it is always the old one or the complete new one.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/parallel.hpp"

namespace kiln {

/// The whole contents of a file or a pipe. Throws IoError, or MemoryError where it does not fit.
std::vector<std::byte> read_file(const std::string& path);
std::string read_text_file(const std::string& path);

/// Writes a new version of a file piece by piece; `commit` puts it in place of the old one, in one step, once it is on
/// the disk. Without a commit (an error, an exception, a killed process) the old file stays as it was. The next
/// replacement removes what a killed process left beside the file.
class FileReplacement {
 public:
  /// Throws IoError where the directory cannot be written, or `path` is not a file.
  explicit FileReplacement(const std::string& path);
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement();

  /// Throws IoError: "cannot write model.safetensors: No space left on device".
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void create(unsigned mode);
  bool create_named();
  void flush();
  void write_through(std::span<const std::byte> bytes);
  [[noreturn]] void fail_with(int error) const;

  std::string path_;       // as the caller wrote it, for error sentences
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // beside the target
  bool named_ = false;     // whether the new file has the temporary name yet
  int file_ = -1;
  std::vector<std::byte> buffer_;
};

/// Removes the temporary files that killed processes left in a directory; a running writer is recognised by its lock.
/// Returns the number of files removed, 0 where the directory cannot be read.
int remove_abandoned(const std::string& directory);

/// Does a FileReplacement in one call: `write` receives it and must not commit.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);
void write_file_atomically(const std::string& path, FunctionRef<void(FileReplacement&)> write);

}  // namespace kiln
