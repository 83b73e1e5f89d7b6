#include "kiln/core/setting/setting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "kiln/core/file.hpp"
#include "tests/core/sentence.hpp"

namespace kiln {
namespace {

TEST(Settings, AreStringsWholeNumbersAndBooleans) {
  const auto found = read_settings(
      "# what this machine is used for\n"
      "device = \"cpu\"\r\n"
      "\n"
      "  threads=8 # half of them\n"
      "fusion = false\n"
      "verify = true#always\n"
      "profile = 'C:\\traces\\a#b.json'",
      "kiln.toml");
  const std::map<std::string, std::string, std::less<>> right{
      {"device", "cpu"}, {"threads", "8"}, {"fusion", "0"}, {"verify", "1"}, {"profile", "C:\\traces\\a#b.json"}};
  EXPECT_EQ(found, right);
  EXPECT_TRUE(read_settings("", "kiln.toml").empty());
}

// Whatever the environment may say stands in the file too.
TEST(Settings, AreThoseThatTheDocumentationLists) {
  std::istringstream lines(read_text_file(KILN_DOCS "/inspecting.md"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `KILN_")) continue;
    std::string name = line.substr(8, line.find('`', 3) - 8);
    std::ranges::transform(name, name.begin(),
                           [](char letter) { return letter == '_' ? '_' : static_cast<char>(letter | 0x20); });
    EXPECT_EQ(read_settings(name + " = 1", "kiln.toml").count(name), 1u) << name;
    ++count;
  }
  EXPECT_GE(count, 15);
}

TEST(Settings, SayWhatIsWrong) {
  const auto said = [](std::string_view text) {
    return sentence_of([&] { return read_settings(text, "kiln.toml").size(); });
  };
  EXPECT_EQ(said("\nthraeds = 8"),
            "ConfigError: kiln.toml, line 2: there is no setting 'thraeds' (did you mean 'threads'?)");
  EXPECT_EQ(said("threads 8"), "ConfigError: kiln.toml, line 1: a setting is written name = value, got 'threads 8'");
  EXPECT_EQ(said("[fusion]"), "ConfigError: kiln.toml, line 1: a setting is written name = value, got '[fusion]'");
  EXPECT_EQ(said("threads = 8\nthreads = 9"), "ConfigError: kiln.toml, line 2: 'threads' stands there twice");
  EXPECT_EQ(said("device = cpu"),
            "ConfigError: kiln.toml, line 1: a value is \"a string\", a whole number, true or false, got 'cpu'");
  EXPECT_EQ(said("device ="),
            "ConfigError: kiln.toml, line 1: a value is \"a string\", a whole number, true or false, got ''");
  EXPECT_EQ(said("device = \"cpu"), "ConfigError: kiln.toml, line 1: a string is not closed: \"cpu");
  EXPECT_EQ(said("device = \"cpu\" \"reference\""),
            "ConfigError: kiln.toml, line 1: '\"reference\"' stands behind the value");
  EXPECT_EQ(said("threads = 8 9"), "ConfigError: kiln.toml, line 1: '9' stands behind the value");
  EXPECT_EQ(said("profile = \"a\\b\""),
            "ConfigError: kiln.toml, line 1: write a string with a backslash in '...': \"a\\b\"");
}

/// In a process of its own, which has read no file yet.
void look_up(const std::string& text, const char* environment) {
  const std::string file = ::testing::TempDir() + "settings_test.toml";
  write_file_atomically(file, text);
  ::setenv("KILN_CONFIG", file.c_str(), 1);
  if (environment) ::setenv("KILN_DEVICE", environment, 1);
  const std::string said = sentence_of([] {
    const char* const found = setting("KILN_DEVICE");
    std::fprintf(stderr, "said %s", found ? found : "nothing");
    return 0;
  });
  std::fprintf(stderr, "%s", said.c_str());
  std::exit(0);
}

TEST(SettingsDeathTest, ComeFromTheEnvironmentAndThenTheFile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(look_up("device = 'reference'", nullptr), ::testing::ExitedWithCode(0), "said reference");
  EXPECT_EXIT(look_up("device = 'reference'", "cpu"), ::testing::ExitedWithCode(0), "said cpu");
  EXPECT_EXIT(look_up("threads = 2", nullptr), ::testing::ExitedWithCode(0), "said nothing");
  EXPECT_EXIT(look_up("device", nullptr), ::testing::ExitedWithCode(0), "settings_test.toml, line 1: a setting is");
}

TEST(Settings, NameTopicsThatAreLogged) {
  ::setenv("KILN_LOG", "fusion,autodiff", 1);
  EXPECT_TRUE(is_logged("autodiff"));
  EXPECT_TRUE(is_logged("fusion"));
  ::setenv("KILN_LOG", "fusion", 1);
  EXPECT_FALSE(is_logged("autodiff"));
  ::setenv("KILN_LOG", "fusoin", 1);
  EXPECT_EQ(sentence_of([] { return is_logged("fusion"); }),
            "ArgumentError: KILN_LOG must be of autodiff, cuda, fusion and gpu, with commas between, got 'fusoin'");
  ::unsetenv("KILN_LOG");
  EXPECT_FALSE(is_logged("fusion"));
}

TEST(Settings, AreSetByOneAndOffByZero) {
  ::unsetenv("KILN_TF32");
  EXPECT_TRUE(is_set("KILN_TF32", true));
  EXPECT_FALSE(is_set("KILN_TF32", false));
  ::setenv("KILN_TF32", "1", 1);
  EXPECT_TRUE(is_set("KILN_TF32", false));
  ::setenv("KILN_TF32", "0", 1);
  EXPECT_FALSE(is_set("KILN_TF32", true));
  ::setenv("KILN_TF32", "yes", 1);
  EXPECT_EQ(sentence_of([] { return is_set("KILN_TF32", true); }),
            "ArgumentError: KILN_TF32 must be 0 or 1, got 'yes'");
  ::unsetenv("KILN_TF32");
}

}  // namespace
}  // namespace kiln
