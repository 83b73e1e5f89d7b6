// How many threads a program begins with, and threads of one's own.
#include "kiln/core/threads/cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A /proc and a /sys of the test's own.
class CoreQuota : public testing::Test {
 protected:
  CoreQuota() : root_(fs::path(testing::TempDir()) / ("cores" + std::to_string(getpid()))) {}
  ~CoreQuota() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  double quota() const { return core_quota(root_); }

 private:
  fs::path root_;
};

TEST_F(CoreQuota, IsNoneWithoutControlGroups) {
  EXPECT_EQ(quota(), 0);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(quota(), 0);
}

TEST_F(CoreQuota, IsTheLeastOfAGroupAndThoseAboveIt) {
  write("proc/self/cgroup", "0::/pods/one\n");
  write("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("sys/fs/cgroup/pods/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  write("sys/fs/cgroup/pods/one/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
  write("sys/fs/cgroup/pods/cpu.max", "25000 100000\n");
  EXPECT_EQ(quota(), 0.25);
}

TEST_F(CoreQuota, IsThatOfTheRootForAContainerThatSeesNoOther) {
  write("proc/self/cgroup", "0::/system.slice/of/the/world/outside\n");
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CoreQuota, IsReadFromTheFirstVersionToo) {
  write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/pods\n1:name=systemd:/y\n0::/\n");
  write("sys/fs/cgroup/cpu/pods/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/pods/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
  write("sys/fs/cgroup/cpu/pods/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(quota(), 4);
}

TEST_F(CoreQuota, IsNoneWhereFilesMakeNoSense) {
  write("proc/self/cgroup", "nonsense\n0::/a\n");
  for (const char* text : {"", "max", "-5 100000", "100000 0", "100000 -1", "many some", "1e999 100000"}) {
    write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(quota(), 0) << text;
  }
}

#ifdef __linux__
TEST(AvailableCores, AreThoseThatTheProcessMayRunOn) {
  EXPECT_GE(available_cores(), 1);
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    int first = 0;
    while (!CPU_ISSET(first, &cores)) ++first;
    CPU_ZERO(&cores);
    CPU_SET(first, &cores);
    _exit(sched_setaffinity(0, sizeof cores, &cores) == 0 ? available_cores() : 200);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}
#endif

/// How many threads take part in work that none of `wanted` threads can end before all of them have begun; given up
/// after a time, so that a failure ends.
std::size_t threads_that_meet(int wanted) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> begun = 0;
  parallel_for(wanted, 1, [&](auto, auto) {
    ++begun;
    for (int i = 0; i < 5000 && begun < wanted; ++i) std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  return ids.size();
}

TEST(Threads, AreSoManyWhileTheyLive) {
  set_num_threads(2);
  {
    const Threads three(3);
    EXPECT_EQ(num_threads(), 3);
    EXPECT_EQ(threads_that_meet(3), 3u);
    {
      const Threads one(1);
      EXPECT_EQ(num_threads(), 1);
      const auto self = std::this_thread::get_id();
      parallel_for(50, 1, [&](auto, auto) { EXPECT_EQ(std::this_thread::get_id(), self); });
    }
    EXPECT_EQ(num_threads(), 3);
    std::thread([] { EXPECT_EQ(num_threads(), 2); }).join();
  }
  EXPECT_EQ(num_threads(), 2);
}

TEST(Threads, WorkBesideThoseOfOtherThreads) {
  // Four callers of two threads each: eight pieces of work which all wait for each other.
  std::atomic<int> begun = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      const Threads two(2);
      parallel_for(2, 1, [&](auto, auto) {
        ++begun;
        for (int wait = 0; wait < 5000 && begun < 8; ++wait) std::this_thread::sleep_for(1ms);
        EXPECT_EQ(begun, 8);
      });
    });
  for (auto& caller : callers) caller.join();
}

TEST(Threads, RefuseANumberThatIsNone) {
  EXPECT_THROW(Threads(0), ArgumentError);
  EXPECT_THROW(Threads(-1), ArgumentError);
  EXPECT_THROW(Threads(1 << 20), ArgumentError);
  set_num_threads(2);
  EXPECT_THROW(parallel_for(4, 1, [](auto, auto) { Threads(2); }), ArgumentError);
  EXPECT_EQ(num_threads(), 2);
}

#if !defined(__SANITIZE_THREAD__)  // which does not allow threads after a fork
TEST(Threads, AreLeftBehindByAForkedChild) {
  const auto child = [] {
    const Threads three(3);
    parallel_for(10, 1, [](auto, auto) {});
    const pid_t forked = fork();
    if (forked == 0) {
      set_num_threads(2);
      std::atomic<int> calls = 0;
      parallel_for(10, 1, [&](auto, auto) { ++calls; });
      if (calls != 10 || num_threads() != 2) _exit(1);
    }
    return forked;
  }();
  if (child == 0) _exit(0);  // and the scope has ended without its threads
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace kiln
