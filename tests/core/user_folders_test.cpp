#include "kiln/core/user_folders.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace kiln {
namespace {

namespace fs = std::filesystem;

class UserFolders : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "kiln_folders_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = name;
  }
  void TearDown() override { fs::remove_all(place_); }
  fs::path place_;
};

/// A variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A relative path is another folder wherever the program is started.
TEST_F(UserFolders, BeginAtTheRoot) {
  const Variable home("HOME", "/home/me"), cache("XDG_CACHE_HOME", nullptr), config("XDG_CONFIG_HOME", nullptr);
  EXPECT_EQ(cache_directory("cuda"), "/home/me/.cache/kiln/cuda");
  EXPECT_EQ(config_file("kiln.toml"), "/home/me/.config/kiln/kiln.toml");
  for (const char* relative : {"", ".", "x", "./x", "../x"}) {
    const Variable other("XDG_CACHE_HOME", relative), likewise("XDG_CONFIG_HOME", relative);
    EXPECT_EQ(cache_directory("cuda"), "/home/me/.cache/kiln/cuda") << relative;
    EXPECT_EQ(config_file("kiln.toml"), "/home/me/.config/kiln/kiln.toml") << relative;
    const Variable without("HOME", relative);
    EXPECT_EQ(cache_directory("cuda"), std::nullopt) << relative;
    EXPECT_EQ(config_file("kiln.toml"), std::nullopt) << relative;
  }
  const Variable other("XDG_CACHE_HOME", "/fast"), likewise("XDG_CONFIG_HOME", "/etc/mine");
  EXPECT_EQ(cache_directory("cuda"), "/fast/kiln/cuda");
  EXPECT_EQ(config_file("kiln.toml"), "/etc/mine/kiln/kiln.toml");
}

TEST_F(UserFolders, AreMadeForTheUserAlone) {
  const ::mode_t before = ::umask(0);
  EXPECT_TRUE(make_private_folder(place_ / "a/b"));
  ::umask(before);
  for (const char* folder : {"a", "a/b"})
    EXPECT_EQ(fs::status(place_ / folder).permissions(), fs::perms::owner_all) << folder;
  EXPECT_TRUE(make_private_folder(place_ / "a/b"));
  std::ofstream(place_ / "file") << "x";
  EXPECT_FALSE(make_private_folder(place_ / "file"));
  EXPECT_FALSE(make_private_folder(place_ / "file/b"));
}

TEST_F(UserFolders, AreSafeWhereNobodyElseWrites) {
  const fs::path folder = place_ / "mine", file = folder / "file";
  ASSERT_TRUE(make_private_folder(folder));
  std::ofstream(file) << "x";
  EXPECT_TRUE(is_safe_from_others(folder));
  EXPECT_TRUE(is_safe_from_others(file));
  EXPECT_FALSE(is_safe_from_others(folder / "none"));
  fs::create_symlink(folder, place_ / "link");
  EXPECT_TRUE(is_safe_from_others(place_ / "link/file"));

  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(is_safe_from_others(file));
  fs::permissions(file, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(is_safe_from_others(file));
  fs::permissions(folder, fs::perms::all);
  EXPECT_FALSE(is_safe_from_others(file));
  EXPECT_FALSE(is_safe_from_others(folder));
  fs::permissions(folder,
                  fs::perms::all | fs::perms::sticky_bit);  // as /tmp is: others add, and rename their own alone
  EXPECT_TRUE(is_safe_from_others(file));
  EXPECT_FALSE(is_safe_from_others(folder));
}

TEST_F(UserFolders, AreNotSafeWhereTheyAreAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  const fs::path folder = place_ / "theirs", file = folder / "file";
  ASSERT_TRUE(make_private_folder(folder));
  std::ofstream(file) << "x";
  fs::create_symlink(folder, place_ / "link");
  EXPECT_TRUE(is_safe_from_others(place_ / "link/file"));
  ASSERT_EQ(::lchown((place_ / "link").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(is_safe_from_others(place_ / "link/file"));
  EXPECT_TRUE(is_safe_from_others(file));
  ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(is_safe_from_others(file));
}

}  // namespace
}  // namespace kiln
