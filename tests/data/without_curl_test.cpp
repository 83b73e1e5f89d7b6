// Linked with kiln/data/curl/without_curl.cpp, as builds on machines without libcurl are.
#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/data/download.hpp"

#include "tests/data/idx_files.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

TEST(DownloadWithoutLibcurl, SaysSoAndLeavesNothingBehind) {
  const test::TemporaryDirectory directory;
  const Download file{.urls = {"http://127.0.0.1:1/f"}, .sha256 = std::string(64, '0'), .bytes = 1};
  EXPECT_EQ(
      test::raised<IoError>([&] { download(file, directory / "f"); }),
      "download of " + (directory / "f").string() + ": http://127.0.0.1:1/f: this Kiln was built without libcurl");
  EXPECT_TRUE(std::filesystem::is_empty(directory / ""));
}

}  // namespace
}  // namespace kiln
