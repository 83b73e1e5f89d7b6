// Files of the host: reading a whole one, and replacing one so that it is always the old or the new, complete.
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

/// Writes the successor of a file piece by piece; `commit` puts it in the place of the old one, in one step, once it
/// is on the disk. Without a commit (an error, an exception, a killed process) the old file stays as it was. What a
/// process that was killed in the middle left beside the file goes with the next replacement.
class FileReplacement {
 public:
  /// Throws IoError where the directory does not take files, or `path` is something else than a file.
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

  std::string path_;       // as the caller wrote it, for sentences
  std::string target_;     // behind symbolic links
  std::string temporary_;  // beside the target
  bool named_ = false;     // whether the new file has that name yet
  int file_ = -1;
  std::vector<std::byte> buffer_;
};

/// Removes from a directory what killed processes were replacing files with: temporary files that nobody writes any more,
/// since a writer that lives holds a lock. Returns how many; a directory that cannot be read has none.
int remove_abandoned(const std::string& directory);

/// FileReplacement in one call; `write` receives it and must not commit.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);
void write_file_atomically(const std::string& path, FunctionRef<void(FileReplacement&)> write);

}  // namespace kiln
