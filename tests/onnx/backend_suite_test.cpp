// The standard's own tests: those in $KILN_ONNX_TESTS, or in the archive beside the repository. Those listed here by
// name and reason do not pass; one that begins to pass, and one that ceases to, is an error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "kiln/onnx/backend_test.hpp"
#include "tests/store/temporary.hpp"

namespace kiln::onnx::test {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string>& known_failures() {
  static const std::map<std::string, std::string> list = {
#include "known_failures.inc"
  };
  return list;
}

class BackendSuite : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* const given = std::getenv("KILN_ONNX_TESTS")) {
      directory_ = given;
      return;
    }
    const fs::path archive = fs::path(KILN_SOURCE_DIR) / "../shared/data/onnx/onnx-backend-tests.tar.gz";
    if (!fs::exists(archive)) GTEST_SKIP() << "KILN_ONNX_TESTS names no directory, and there is no " << archive;
    const std::string unpack = "tar xzf '" + archive.string() + "' -C '" + unpacked_.directory + "'";
    if (std::system(unpack.c_str()) != 0) GTEST_SKIP() << "tar does not unpack " << archive;
    directory_ = unpacked_.directory;
  }
  void compare(const LoadOptions& options) const {
    const std::vector<std::string> tests = find_backend_tests({directory_});
    ASSERT_FALSE(tests.empty()) << directory_;
    int passed = 0;
    for (const std::string& test : tests) {
      const std::string name = fs::path(test).filename().string();
      const BackendTestResult result = run_backend_test(test, Device::cpu(), options);
      const auto known = known_failures().find(name);
      if (result.reason.find("this Kiln was built without lib") != std::string::npos) continue;  // of PNG or JPEG
      const bool fine = result.outcome == BackendTestResult::Outcome::Passed;
      passed += fine;
      if (known == known_failures().end()) {
        EXPECT_TRUE(fine) << name << ": " << result.reason;
      } else {
        EXPECT_FALSE(fine) << name << " passes, but is listed: " << known->second;
      }
    }
    std::printf("passed %d of %zu\n", passed, tests.size());
    EXPECT_GE(passed, 0.98 * static_cast<double>(tests.size()));
  }

  TemporaryFile unpacked_{"tests"};
  std::string directory_;
};

TEST_F(BackendSuite, PassesWithModelsSimplified) { compare({}); }
TEST_F(BackendSuite, PassesWithModelsAsTheyStand) { compare({.simplify = false}); }

}  // namespace
}  // namespace kiln::onnx::test
