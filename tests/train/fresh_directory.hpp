// A place for a test's files.
#pragma once
#include <filesystem>
#include <string>

#include <unistd.h>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// A process's own, which goes with it.
struct TestDirectory {
  const pid_t process = ::getpid();
  const std::filesystem::path path = std::filesystem::temp_directory_path() / text("kiln-train-", process);
  ~TestDirectory() {
    std::error_code nobody;
    if (process == ::getpid()) std::filesystem::remove_all(path, nobody);  // and not a fork's
  }
};

/// The path of a directory that is not there yet; no other process's.
inline std::filesystem::path fresh_directory(const std::string& name) {
  static const TestDirectory all;
  const auto path = all.path / name;
  std::filesystem::remove_all(path);
  return path;
}

}  // namespace kiln
