// A place for a test's files.
#pragma once
#include <filesystem>
#include <string>

#include <unistd.h>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// The path of a directory that is not there yet; no other process's.
inline std::filesystem::path fresh_directory(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / text("kiln-train-", ::getpid()) / name;
  std::filesystem::remove_all(path);
  return path;
}

}  // namespace kiln
