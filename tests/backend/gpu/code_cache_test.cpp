#include "kiln/backend/gpu/code_cache.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>

#include "kiln/core/file.hpp"

namespace kiln::gpu {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class GpuCodeCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "kiln_cache_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  CodeCache cache() const { return CodeCache(folder_ / "cuda"); }
  fs::path only_file() const {
    const fs::directory_iterator files(folder_ / "cuda");
    EXPECT_EQ(std::distance(fs::begin(files), fs::end(files)), 1);
    return fs::directory_iterator(folder_ / "cuda")->path();
  }

  fs::path folder_;
};

TEST_F(GpuCodeCache, FindsWhatWasKept) {
  EXPECT_EQ(cache().find("a key"), std::nullopt);
  cache().keep("a key", bytes_of("some code"));
  EXPECT_EQ(cache().find("a key"), bytes_of("some code"));
  EXPECT_EQ(cache().find("another key"), std::nullopt);
  cache().keep("a key", bytes_of("newer"));
  EXPECT_EQ(cache().find("a key"), bytes_of("newer"));
}

TEST_F(GpuCodeCache, DoesNotBelieveADamagedFile) {
  cache().keep("a key", bytes_of("some code"));
  const fs::path file = only_file();
  const std::vector<std::byte> whole = read_file(file.string());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> damaged = whole;
    damaged[i] ^= std::byte{0x10};
    write_file_atomically(file.string(), damaged);
    EXPECT_EQ(cache().find("a key"), std::nullopt) << "byte " << i;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file_atomically(file.string(), std::span(whole).first(size));
    EXPECT_EQ(cache().find("a key"), std::nullopt) << size << " bytes";
  }
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  write_file_atomically(file.string(), longer);
  EXPECT_EQ(cache().find("a key"), std::nullopt);
  cache().keep("a key", bytes_of("some code"));
  EXPECT_EQ(cache().find("a key"), bytes_of("some code"));
}

// A file that has another key's name, as where two keys had one hash.
TEST_F(GpuCodeCache, DoesNotTakeTheCodeOfAnotherKey) {
  cache().keep("a key", bytes_of("some code"));
  const fs::path file = only_file();
  const std::vector<std::byte> of_first = read_file(file.string());
  fs::remove(file);
  cache().keep("other", bytes_of("other code"));
  write_file_atomically(only_file().string(), of_first);
  EXPECT_EQ(cache().find("other"), std::nullopt);
}

TEST_F(GpuCodeCache, IsWrittenByManyAtOnce) {
  const auto code_of = [](int key) { return std::vector<std::byte>(20000, static_cast<std::byte>(key)); };
  const auto work = [&] {
    bool right = true;
    for (int round = 0; round < 20; ++round)
      for (int key = 0; key < 3; ++key) {
        cache().keep(std::to_string(key), code_of(key));
        right = right && cache().find(std::to_string(key)) == code_of(key);
      }
    return right;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(work() ? 0 : 1);
  }
  EXPECT_TRUE(work());
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// A process that is killed while it writes leaves what was there before, or what it wrote, and never a part of it.
TEST_F(GpuCodeCache, IsWholeAfterAProcessWasKilled) {
  constexpr int kKeys = 4;
  const auto code_of = [](int key, int round) {
    return std::vector<std::byte>(300000, static_cast<std::byte>(key * 50 + round));
  };
  for (int key = 0; key < kKeys; ++key) cache().keep(std::to_string(key), code_of(key, 0));
  for (int times = 0; times < 20; ++times) {
    int written[2];
    ASSERT_EQ(::pipe(written), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (int round = 1;; round = round % 49 + 1)
        for (int key = 0; key < kKeys; ++key) {
          cache().keep(std::to_string(key), code_of(key, round));
          if (::write(written[1], "x", 1) != 1) ::_exit(1);
        }
    }
    // In the midst of a later one each time.
    char letter = 0;
    for (int i = 0; i <= times; ++i) ASSERT_EQ(::read(written[0], &letter, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(37 * times));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    ::close(written[0]);
    ::close(written[1]);
    for (int key = 0; key < kKeys; ++key) {
      const auto found = cache().find(std::to_string(key));
      ASSERT_TRUE(found.has_value()) << key;
      EXPECT_EQ(*found, code_of(key, static_cast<int>((*found)[0]) - key * 50)) << key;
    }
  }
}

TEST_F(GpuCodeCache, DoesWithoutAFolder) {
  const CodeCache none(std::nullopt);
  none.keep("a key", bytes_of("some code"));
  EXPECT_EQ(none.find("a key"), std::nullopt);
  write_file_atomically((folder_ / "cuda").string(), "a file where the folder should be");
  cache().keep("a key", bytes_of("some code"));
  EXPECT_EQ(cache().find("a key"), std::nullopt);
}

// Whoever may write there could have what he likes executed.
TEST_F(GpuCodeCache, IsNotReadWhereOthersWrite) {
  cache().keep("a key", bytes_of("some code"));
  EXPECT_EQ(fs::status(folder_ / "cuda").permissions(), fs::perms::owner_all);
  fs::permissions(folder_ / "cuda", fs::perms::all);
  EXPECT_EQ(cache().find("a key"), std::nullopt);
  cache().keep("other", bytes_of("other code"));
  fs::permissions(folder_ / "cuda", fs::perms::owner_all);
  EXPECT_EQ(cache().find("other"), std::nullopt);
  EXPECT_EQ(cache().find("a key"), bytes_of("some code"));
  fs::permissions(only_file(), fs::perms::all);
  EXPECT_EQ(cache().find("a key"), std::nullopt);
}

TEST_F(GpuCodeCache, LiesWhereTheEnvironmentSays) {
  ::setenv("KILN_CACHE", folder_.c_str(), 1);
  CodeCache::named("cuda").keep("a key", bytes_of("some code"));
  EXPECT_EQ(cache().find("a key"), bytes_of("some code"));
  ::setenv("KILN_CACHE", "0", 1);
  EXPECT_EQ(CodeCache::named("cuda").find("a key"), std::nullopt);
  ::unsetenv("KILN_CACHE");
  ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  CodeCache::named("cuda").keep("a key", bytes_of("other code"));
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(CodeCache(folder_ / "kiln" / "cuda").find("a key"), bytes_of("other code"));
}

}  // namespace
}  // namespace kiln::gpu
