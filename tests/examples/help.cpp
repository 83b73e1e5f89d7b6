// --help of every example says what the program is for and what each option means, and does nothing else.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

#include "kiln/core/text.hpp"
#include "output_of.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrograms[] = {EXAMPLE_PROGRAMS};

/// An empty folder, which is removed at the end.
class Folder {
 public:
  explicit Folder(std::string_view name)
      : path_(fs::temp_directory_path() / text("kiln-help-", ::getpid(), '-', name)) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

class ExampleHelp : public testing::TestWithParam<std::string_view> {};

TEST_P(ExampleHelp, SaysWhatTheProgramIsForAndDoesNothing) {
  const Folder folder(fs::path(GetParam()).filename().string());
  const std::string said =
      output_of(text("cd ", folder.path().string(), " && HOME=", folder.path().string(), " ", GetParam(), " --help"));
  ASSERT_NE(said.find('\n'), said.npos) << said;
  EXPECT_GT(said.find('\n'), 25u) << said;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Each, ExampleHelp, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return fs::path(info.param).filename().string(); });

/// These take data that Kiln cannot draw: without them they say how to get them.
TEST(ExampleNeeds, AreSaidWithTheirRemedy) {
  for (const std::string_view name : {"regression", "shakespeare", "truecase", "text_classification",
                                      "image_classification", "onnx_inference", "onnx_training"}) {
    for (const std::string_view program : kPrograms) {
      if (fs::path(program).filename() != name) continue;
      const Folder folder(name);
      const std::string said = output_of(
          text("cd ", folder.path().string(), " && HOME=", folder.path().string(), " ", program, " 2>&1 || true"));
      EXPECT_TRUE(said.find("curl -LO https://") != said.npos || said.find("name it by --") != said.npos ||
                  said.find("name a network by --model") != said.npos)
          << said;
      EXPECT_TRUE(fs::is_empty(folder.path())) << name;
    }
  }
}

}  // namespace
}  // namespace kiln
