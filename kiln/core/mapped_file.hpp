// The contents of a file as the system maps them: opening a file takes microseconds, whatever its size, and only the
// pages that are accessed are read from the disk.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace kiln {

/// Bytes, a name for error sentences, and the owner that keeps them alive (null: the caller does).
struct FileBytes {
  std::span<const std::byte> bytes;
  std::string name;
  std::shared_ptr<const void> owner;
  bool mapped = false;  // false: read into memory, or owned by the caller
};

/// Maps a whole file; what cannot be mapped (a pipe) is read. A file that is replaced in one step, as Kiln does, stays
/// unchanged for processes that have it mapped. One that another program shortens meanwhile ends this program with
/// SIGBUS, as with any mapped file. Throws IoError.
FileBytes map_file(const std::string& path);

/// Tells the system that `part` of `file` is not needed soon: a mapped part leaves this process's memory and is read
/// again at the next access.
void forget_pages(const FileBytes& file, std::span<const std::byte> part);

}  // namespace kiln
