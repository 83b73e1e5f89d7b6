// --help of every example says what the program is for and what each option means, and does nothing else.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "kiln/core/text.hpp"
#include "output_of.hpp"
#include "own_folder.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrograms[] = {EXAMPLE_PROGRAMS};

class ExampleHelp : public testing::TestWithParam<std::string_view> {};

TEST_P(ExampleHelp, SaysWhatTheProgramIsForAndDoesNothing) {
  const OwnFolder folder(fs::path(GetParam()).filename().string());
  const std::string said =
      output_of(text("cd ", folder.path().string(), " && HOME=", folder.path().string(), " ", GetParam(), " --help"));
  ASSERT_NE(said.find('\n'), said.npos) << said;
  EXPECT_GT(said.find('\n'), 25u) << said;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Each, ExampleHelp, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return fs::path(info.param).filename().string(); });

}  // namespace
}  // namespace kiln
