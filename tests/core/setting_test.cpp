#include "kiln/core/setting/setting.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
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
  EXPECT_EQ(said("threads = 8\nthreads = 9"), "ConfigError: kiln.toml, line 2: 'threads' occurs twice");
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

// What a stranger's folder may say is this list, and no more.
TEST(Settings, OfAProjectNameNothingThatIsOpenedExecutedOrWritten) {
  const auto said = [](std::string_view text, SettingsOf whose = SettingsOf::Project) {
    return sentence_of([&] { return read_settings(text, "kiln.toml", whose).size(); });
  };
  for (const char* name : {"autotune", "cudnn", "data", "deterministic", "device", "fusion", "inflation", "log",
                           "memory_limit", "nccl", "poison", "tf32", "threads", "verify"})
    EXPECT_EQ(said(std::string(name) + " = './anything'"), "") << name;
  for (const char* right : {"cache = 0", "profile = true", "profile = false"}) EXPECT_EQ(said(right), "") << right;
  EXPECT_EQ(said("threads = 2\nnvrtc = \"./libx.so\""),
            "ConfigError: kiln.toml, line 2: 'nvrtc' names a library that is opened, which a file in the working "
            "directory may not do: set the environment's KILN_NVRTC, or write it in your own ~/.config/kiln/kiln.toml");
  for (const char* wrong : {"nvrtc = 'libnvrtc.so'", "nvrtc = '/usr/lib/libnvrtc.so'", "nvrtc = 1", "cache = '/tmp/x'",
                            "cache = 'x'", "profile = '/home/me/.bashrc'", "profile = 'x.json'", "choices = 'tiles'",
                            "device = 'remote:elsewhere:3000'", "device = 'router:cpu,remote:elsewhere:3000'",
                            "remote_token = 'known'", "remote_token = 1", "remote_authority = 'theirs.pem'"})
    EXPECT_NE(said(wrong).find("a file in the working directory may not do"), std::string::npos) << wrong;
}

TEST(Settings, OfAUserNameLibrariesAndCodeFromTheRootOn) {
  const auto said = [](std::string_view text) {
    return sentence_of([&] { return read_settings(text, "kiln.toml").size(); });
  };
  for (const char* right :
       {"nvrtc = '/opt/cuda/libnvrtc.so.12'", "nvrtc = 'libnvrtc.so.12'", "cache = '/fast/kernels'", "cache = 0",
        "profile = 'trace.json'", "device = 'remote:mine:3000'", "remote_token = 'known'"})
    EXPECT_EQ(said(right), "") << right;
  EXPECT_EQ(said("nvrtc = './libx.so'"),
            "ConfigError: kiln.toml, line 1: 'nvrtc' names a library that is opened: write its absolute path, got "
            "'./libx.so'");
  for (const char* wrong : {"nvrtc = 'cuda/libnvrtc.so'", "nvrtc = '../libx.so'", "cache = 'kernels'", "cache = ''"})
    EXPECT_NE(said(wrong).find("write its absolute path"), std::string::npos) << wrong;
}

#ifdef GTEST_HAS_DEATH_TEST  // not where there are no processes
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

/// Likewise, started in a folder with `project` in kiln.toml, by a user whose own file says `user`.
void start_in_project(const char* project, const char* user, const char* name) {
  namespace fs = std::filesystem;
  const fs::path place = fs::path(::testing::TempDir()) / ("settings_of_" + std::to_string(::getpid()));
  fs::create_directories(place / "project");
  fs::create_directories(place / "home/.config/kiln");
  write_file_atomically((place / "project/kiln.toml").string(), std::string_view(project));
  write_file_atomically((place / "home/.config/kiln/kiln.toml").string(), std::string_view(user));
  fs::current_path(place / "project");
  ::unsetenv("KILN_CONFIG");
  ::unsetenv("XDG_CONFIG_HOME");
  ::setenv("HOME", (place / "home").c_str(), 1);
  const std::string said = sentence_of([&] {
    const char* const found = setting(name);
    std::fprintf(stderr, "said %s", found ? found : "nothing");
    return 0;
  });
  std::fprintf(stderr, "%s", said.c_str());
  fs::remove_all(place);
  std::exit(0);
}

TEST(SettingsDeathTest, OpenNothingThatTheFolderNames) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto exits = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(start_in_project("nvrtc = './libx.so'", "", "KILN_NVRTC"), exits,
              "^ConfigError: kiln.toml, line 1: 'nvrtc'");
  EXPECT_EXIT(start_in_project("", "nvrtc = '/opt/libnvrtc.so'", "KILN_NVRTC"), exits, "said /opt/libnvrtc.so");
  EXPECT_EXIT(start_in_project("", "nvrtc = './libx.so'", "KILN_NVRTC"), exits, "home/.config/kiln/kiln.toml, line 1");
  EXPECT_EXIT(start_in_project("threads = 2", "threads = 3\nlog = 'cuda'", "KILN_THREADS"), exits, "said 2");
  EXPECT_EXIT(start_in_project("threads = 2", "threads = 3\nlog = 'cuda'", "KILN_LOG"), exits, "said cuda");
}
#endif

TEST(Settings, NameTopicsThatAreLogged) {
  ::setenv("KILN_LOG", "fusion,autodiff", 1);
  EXPECT_TRUE(is_logged("autodiff"));
  EXPECT_TRUE(is_logged("fusion"));
  ::setenv("KILN_LOG", "fusion", 1);
  EXPECT_FALSE(is_logged("autodiff"));
  ::setenv("KILN_LOG", "fusoin", 1);
  EXPECT_EQ(sentence_of([] { return is_logged("fusion"); }),
            "ArgumentError: KILN_LOG must be a list of autodiff, cuda, fusion, gpu, libtorch, router, vmap and vulkan, "
            "separated by "
            "commas, got "
            "'fusoin'");
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
