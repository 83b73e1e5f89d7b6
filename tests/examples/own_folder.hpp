// A folder for one program.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "kiln/core/text.hpp"

namespace kiln {

/// An empty folder, which is removed at the end.
class OwnFolder {
 public:
  explicit OwnFolder(std::string_view name)
      : path_(std::filesystem::temp_directory_path() / text("kiln-example-", ::getpid(), '-', name)) {
    std::filesystem::create_directories(path_);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

}  // namespace kiln
