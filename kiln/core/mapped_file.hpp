// The contents of a file where the system keeps them: opening one takes microseconds, whatever its size, and only what is
// looked at is read from the disk.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace kiln {

/// Bytes with a name for sentences, and whoever keeps them there (null: the caller does).
struct FileBytes {
  std::span<const std::byte> bytes;
  std::string name;
  std::shared_ptr<const void> owner;
  bool mapped = false;  // rather than read, or the caller's
};

/// The whole file; what cannot be mapped (a pipe) is read. A file that is replaced in one step, as Kiln writes, stays as
/// it was for who has it mapped; one that somebody else shortens meanwhile ends the program with SIGBUS, as any mapped
/// file does. Throws IoError.
FileBytes map_file(const std::string& path);

/// `part` of `file` is not needed soon: where it is mapped it leaves this process's memory, and is read anew by who looks
/// at it.
void forget_pages(const FileBytes& file, std::span<const std::byte> part);

}  // namespace kiln
