#include "kiln/core/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "kiln-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // Runs `body` in a child process and returns its wait status.
  template <class F>
  static int in_child(F&& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  fs::path directory_;
};

std::string io_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const IoError& error) { return error.what(); }
  return "no error";
}

// Not the code under test.
std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(File, ReadsWhatStandsInIt) {
  std::string text(200000, 'x');
  text[7] = '\0';
  std::ofstream(path("a"), std::ios::binary) << text;
  EXPECT_EQ(read_text_file(path("a")), text);
  const auto bytes = read_file(path("a"));
  ASSERT_EQ(bytes.size(), text.size());
  EXPECT_EQ(bytes[7], std::byte{0});
  EXPECT_EQ(bytes[8], std::byte{'x'});
  const std::ofstream empty(path("empty"));
  EXPECT_TRUE(read_file(path("empty")).empty());
}

TEST_F(File, ReadsAPipeOfUnknownLength) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string text(300000, 'p');
  std::thread writer([&] { std::ofstream(path("pipe"), std::ios::binary) << text; });
  EXPECT_EQ(read_text_file(path("pipe")), text);
  writer.join();
}

TEST_F(File, ReadingSaysWhatIsWrong) {
  EXPECT_EQ(io_error([&] { read_file(path("none")); }),
            "IoError: cannot read " + path("none") + ": No such file or directory");
  EXPECT_EQ(io_error([&] { read_file(directory_); }),
            "IoError: cannot read " + path("").substr(0, path("").size() - 1) + ": Is a directory");
  EXPECT_EQ(io_error([&] { read_file("/dev/zero"); }), "IoError: cannot read /dev/zero: not a file");
}

TEST_F(File, WritesANewFileAndReplacesAnOldOne) {
  write_file_atomically(path("a"), "first");
  EXPECT_EQ(contents(path("a")), "first");
  write_file_atomically(path("a"), "second, longer");
  EXPECT_EQ(contents(path("a")), "second, longer");
  write_file_atomically(path("a"), "");
  EXPECT_EQ(contents(path("a")), "");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(File, PiecesOfAnySizeArriveInOrder) {
  std::string expected;
  write_file_atomically(path("a"), [&](FileReplacement& file) {
    for (const std::size_t size : {1, 0, 65535, 65536, 65537, 3, 500000, 100}) {
      const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
      expected += piece;
      file.write(piece);
    }
  });
  EXPECT_EQ(contents(path("a")), expected);
}

TEST_F(File, WorksInTheCurrentDirectory) {
  const auto before = fs::current_path();
  fs::current_path(directory_);
  write_file_atomically("plain", "text");
  fs::current_path(before);
  EXPECT_EQ(contents(path("plain")), "text");
}

TEST_F(File, KeepsThePermissionsAndFollowsALink) {
  write_file_atomically(path("a"), "old");
  fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", path("link"));
  write_file_atomically(path("link"), "new");
  EXPECT_EQ(contents(path("a")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);

  const auto mask = umask(027);
  write_file_atomically(path("b"), "text");
  umask(mask);
  EXPECT_EQ(static_cast<int>(fs::status(path("b")).permissions()), 0640);
}

TEST_F(File, AnExceptionWhileWritingKeepsTheOldFile) {
  write_file_atomically(path("a"), "old");
  EXPECT_THROW(write_file_atomically(path("a"),
                                     [](FileReplacement& file) {
                                       file.write(std::string(100000, 'n'));
                                       throw std::runtime_error("changed my mind");
                                     }),
               std::runtime_error);
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(File, AFullDiskKeepsTheOldFile) {
  write_file_atomically(path("a"), "old");
  const int status = in_child([&] {
    // A limit on the size of files stands for the disk's end: write() fails in the same way.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto message = io_error([&] { write_file_atomically(path("a"), std::string(1000000, 'n')); });
    return message == "IoError: cannot write " + path("a") + ": File too large" ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(File, AKilledWriterKeepsTheOldFile) {
  write_file_atomically(path("a"), "old");
  const int status = in_child([&] {
    FileReplacement file(path("a"));
    file.write(std::string(1000000, 'n'));
    kill(getpid(), SIGKILL);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(contents(path("a")), "old");
  write_file_atomically(path("a"), "new");
  EXPECT_EQ(contents(path("a")), "new");
}

TEST_F(File, KilledAtAnyMomentTheFileIsTheOldOrTheNewOne) {
  const std::string old_text(300000, 'o'), new_text(400000, 'n');
  for (int delay = 0; delay < 20; ++delay) {
    write_file_atomically(path("a"), old_text);
    const pid_t child = fork();
    if (child == 0) {
      for (;;) write_file_atomically(path("a"), new_text);
    }
    usleep(static_cast<useconds_t>(delay) * 200);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto text = contents(path("a"));
    ASSERT_TRUE(text == old_text || text == new_text) << "after " << delay << ": " << text.size() << " bytes";
  }
}

TEST_F(File, WhatKilledWritersLeftGoesAndWhatOthersWriteStays) {
  for (const char* name : {"model.1234-0.tmp", "model.1234-17.tmp", "other.9-1.tmp", "model.tmp", "model.5.tmp",
                           "my-1.tmp", "model.x-1.tmp"})
    std::ofstream(path(name)) << "half";
  std::ofstream(path("model.77-3.tmp")) << "somebody writes this";
  const int living = ::open(path("model.77-3.tmp").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(living, LOCK_EX | LOCK_NB), 0);  // as its writer does, in whichever process
  write_file_atomically(path("model"), "whole");
  EXPECT_EQ(names(), (std::vector<std::string>{"model", "model.5.tmp", "model.77-3.tmp", "model.tmp", "model.x-1.tmp",
                                               "my-1.tmp", "other.9-1.tmp"}));
  EXPECT_EQ(remove_abandoned(directory_), 1);
  ::close(living);
  EXPECT_EQ(remove_abandoned(directory_), 1);
  EXPECT_EQ(names(), (std::vector<std::string>{"model", "model.5.tmp", "model.tmp", "model.x-1.tmp", "my-1.tmp"}));
  EXPECT_EQ(remove_abandoned(path("nowhere")), 0);
}

TEST_F(File, SeveralProcessesWriteTheSameFileAndCleanUpAtOnce) {
  const auto write = [&](int who) {
    for (int i = 0; i < 60; ++i) {
      write_file_atomically(path("shared"), std::string(1000, static_cast<char>('a' + who)));
      remove_abandoned(directory_);
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int who = 0; who < 3; ++who) {
    children.push_back(fork());
    if (children.back() == 0) {
      try {
        _exit(write(who));
      } catch (...) { _exit(1); }
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(names(), std::vector<std::string>{"shared"});
  const std::string found = read_text_file(path("shared"));
  EXPECT_EQ(found, std::string(1000, found.at(0)));
}

TEST_F(File, WritingSaysWhatIsWrong) {
  EXPECT_EQ(io_error([&] { write_file_atomically(path("none/a"), "x"); }),
            "IoError: cannot write " + path("none/a") + ": No such file or directory");
  EXPECT_EQ(io_error([&] { write_file_atomically("/dev/full", "x"); }), "IoError: cannot write /dev/full: not a file");
  fs::create_directory(path("directory"));
  EXPECT_EQ(io_error([&] { write_file_atomically(path("directory"), "x"); }),
            "IoError: cannot write " + path("directory") + ": Is a directory");
  EXPECT_EQ(io_error([&] { write_file_atomically(path(std::string(300, 'l')), "x"); }),
            "IoError: cannot write " + path(std::string(300, 'l')) + ": " + std::strerror(ENAMETOOLONG));
  EXPECT_EQ(io_error([&] { write_file_atomically("", "x"); }), "IoError: cannot write : No such file or directory");
}

TEST_F(File, ADirectoryWithoutPermissionIsTold) {
  const int status = in_child([&] {
    fs::permissions(directory_, fs::perms::owner_read | fs::perms::owner_exec);
    if (getuid() == 0 && setuid(65534) != 0) return 2;
    const auto message = io_error([&] { write_file_atomically(path("a"), "x"); });
    return message == "IoError: cannot write " + path("a") + ": Permission denied" ? 0 : 1;
  });
  fs::permissions(directory_, fs::perms::owner_all);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kiln
