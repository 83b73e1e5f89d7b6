// A program of its own, in which nobody has downloaded anything before.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/data/download.hpp"

#include "tests/data/idx_files.hpp"

namespace kiln {
namespace {

bool curl_is_loaded() {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find("libcurl") != std::string::npos;
}

TEST(Download, LoadsLibcurlWhenTheFirstOneBegins) {
  EXPECT_FALSE(curl_is_loaded());
  const test::TemporaryDirectory directory;
  const Download nowhere{.urls = {"http://127.0.0.1:1/f"}, .sha256 = std::string(64, '0'), .bytes = 1, .attempts = 1};
  EXPECT_THROW(download(nowhere, directory / "f"), IoError);
  EXPECT_TRUE(curl_is_loaded());
}

}  // namespace
}  // namespace kiln
