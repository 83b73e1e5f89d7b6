// A directory for a test's files, which goes with it.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "kiln/core/text.hpp"

namespace kiln::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / text("kiln_", test->test_suite_name(), '_', test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
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
