// A directory for a test's files, which goes with it.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"

namespace kiln::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "kiln-data-XXXXXX").string();
    KILN_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// The path of a file with these contents; directories on the way are made.
  std::string write(const std::string& name, std::string_view contents) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    write_file_atomically(file(name), contents);
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace kiln::test
