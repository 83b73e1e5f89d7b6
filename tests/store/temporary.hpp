// Files that tests write and that are gone afterwards.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace kiln {

/// A path in a directory of its own, which is removed with all it holds.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& name) {
    std::string pattern = testing::TempDir() + "kiln-XXXXXX";
    directory = mkdtemp(pattern.data());
    path = directory + "/" + name;
  }
  ~TemporaryFile() { std::filesystem::remove_all(directory); }
  TemporaryFile(const TemporaryFile&) = delete;

  std::string directory, path;
};

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace kiln
