#include "kiln/core/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/grain.hpp"

namespace kiln {
namespace {

using namespace std::chrono_literals;
using Pieces = std::map<std::int64_t, std::int64_t>;  // begin -> end

Pieces pieces_of(std::int64_t count, std::int64_t grain) {
  Pieces pieces;
  std::mutex mutex;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(pieces.emplace(begin, end).second) << "twice: " << begin;
  });
  return pieces;
}

class Parallel : public testing::TestWithParam<int> {
  void SetUp() override { set_num_threads(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 3, 8));

TEST_P(Parallel, CallsEveryPieceOnceAndCutsByCountAndGrainAlone) {
  EXPECT_EQ(pieces_of(10, 4), (Pieces{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(pieces_of(8, 4), (Pieces{{0, 4}, {4, 8}}));
  EXPECT_EQ(pieces_of(3, 4), (Pieces{{0, 3}}));
  EXPECT_EQ(pieces_of(1, 1), (Pieces{{0, 1}}));
  EXPECT_EQ(pieces_of(0, 4), Pieces{});
  EXPECT_EQ(pieces_of(-3, 4), Pieces{});
  const auto many = pieces_of(1000, 1);
  EXPECT_EQ(many.size(), 1000u);
}

TEST_P(Parallel, PiecesAreAsSmallAsATestWants) {
  const std::int64_t before = parallel_region_count();
  EXPECT_EQ(pieces_of(8, 100), (Pieces{{0, 8}}));
  EXPECT_EQ(parallel_region_count(), before);
  limit_grain(3);
  EXPECT_EQ(pieces_of(8, 100), (Pieces{{0, 3}, {3, 6}, {6, 8}}));
  EXPECT_EQ(pieces_of(8, 2), (Pieces{{0, 2}, {2, 4}, {4, 6}, {6, 8}}));
  EXPECT_EQ(parallel_region_count(), before + 2);
  EXPECT_EQ(limited_grain(100), 3);
  EXPECT_EQ(limited_grain(100, 16), 48);
  EXPECT_EQ(limited_grain(32, 16), 32);
  int pieces = 0;
  parallel_chunks(8, 100, [&](std::int64_t begin, std::int64_t end) { pieces += begin == 0 && end == 8; });
  EXPECT_EQ(pieces, 1);
  limit_grain(0);
  EXPECT_EQ(pieces_of(8, 100), (Pieces{{0, 8}}));
  EXPECT_EQ(limited_grain(100), 100);
}

TEST_P(Parallel, LargeCountsDoNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(pieces_of(kMost, kMost), (Pieces{{0, kMost}}));
  EXPECT_EQ(pieces_of(kMost, kMost - 1), (Pieces{{0, kMost - 1}, {kMost - 1, kMost}}));
}

TEST_P(Parallel, AGrainBelowOneIsAnArgumentError) {
  EXPECT_THROW(pieces_of(5, 0), ArgumentError);
  EXPECT_THROW(pieces_of(5, -2), ArgumentError);
}

TEST_P(Parallel, WritesOfThePiecesAreSeenByTheCaller) {
  std::vector<std::int64_t> squares(1000);
  for (int round = 0; round < 2000; ++round) {
    parallel_for(1000, 100, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i + round;
    });
    // The sum of i * i for i below 1000, and 1000 times the round.
    ASSERT_EQ(std::accumulate(squares.begin(), squares.end(), std::int64_t{0}), 332833500 + 1000 * round);
  }
}

TEST_P(Parallel, WorksAfterTheWorkersWentToSleep) {
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(round % 2 ? 5ms : 1ms);
    std::atomic<int> calls = 0;
    parallel_for(64, 1, [&](auto, auto) { ++calls; });
    ASSERT_EQ(calls, 64);
  }
}

TEST_P(Parallel, AnInnerParallelForRunsOnItsCallersThread) {
  std::atomic<std::int64_t> sum = 0;
  parallel_for(8, 1, [&](std::int64_t outer, std::int64_t) {
    const auto thread = std::this_thread::get_id();
    parallel_for(100, 10, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      sum += (end - begin) * (outer + 1);
    });
  });
  EXPECT_EQ(sum, 100 * 36);
}

TEST_P(Parallel, SeveralThreadsMayCallAtOnce) {
  std::vector<std::thread> users;
  std::atomic<std::int64_t> total = 0;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<std::int64_t> sum = 0;
        parallel_for(50, 5, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
        EXPECT_EQ(sum, 50);
        total += sum;
      }
    });
  for (auto& user : users) user.join();
  EXPECT_EQ(total, 4 * 300 * 50);
}

TEST_P(Parallel, TheExceptionOfTheFirstFailingPieceReachesTheCaller) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> before = 0;
    try {
      parallel_for(40, 1, [&](std::int64_t piece, std::int64_t) {
        if (piece < 17) ++before;
        if (piece >= 17 && piece % 2) throw std::runtime_error(std::to_string(piece));
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) { EXPECT_STREQ(error.what(), "17"); }
    EXPECT_EQ(before, 17);
  }
  EXPECT_EQ(pieces_of(10, 4).size(), 3u);  // and the pool is as good as new
}

TEST_P(Parallel, TheNumberOfThreadsCannotChangeFromInside) {
  EXPECT_THROW(parallel_for(4, 1, [](auto, auto) { set_num_threads(2); }), ArgumentError);
  EXPECT_EQ(num_threads(), GetParam());
}

TEST(NumThreads, ChangesWhileOthersWork) {
  std::atomic<bool> stop = false;
  std::thread user([&] {
    while (!stop) EXPECT_EQ(pieces_of(30, 10).size(), 3u);
  });
  for (int i = 0; i < 50; ++i) set_num_threads(1 + i % 4);
  stop = true;
  user.join();
  EXPECT_THROW(set_num_threads(0), ArgumentError);
  EXPECT_THROW(set_num_threads(-1), ArgumentError);
  EXPECT_THROW(set_num_threads(1 << 20), ArgumentError);
}

TEST(NumThreads, TwoPiecesOfLongWorkRunOnTwoThreads) {
  set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> started = 0;
  parallel_for(2, 1, [&](auto, auto) {
    ++started;
    // The second piece begins while the first waits for it; given up after a time, so that a failure ends.
    for (int i = 0; i < 5000 && started < 2; ++i) std::this_thread::sleep_for(1ms);
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2u);
}

// What a fresh process makes of KILN_THREADS: its exit status is the number of threads, 200 for an ArgumentError.
int threads_with(const char* wish) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("KILN_THREADS", wish, 1);
    execl("/proc/self/exe", "test_core", "--gtest_filter=NumThreads.DISABLED_Report", "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", nullptr);
    _exit(201);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
TEST(NumThreads, DISABLED_Report) {
  try {
    _exit(num_threads());
  } catch (const ArgumentError&) { _exit(200); }
}
TEST(NumThreads, AreReadFromTheEnvironment) {
  EXPECT_EQ(threads_with("3"), 3);
  EXPECT_EQ(threads_with("1"), 1);
  for (const char* wrong : {"0", "-2", "two", "3x", "99999999999999999999"})
    EXPECT_EQ(threads_with(wrong), 200) << wrong;
}

#if !defined(__SANITIZE_THREAD__)  // which does not allow threads after a fork
TEST(NumThreads, AForkedChildHasItsOwnWorkers) {
  set_num_threads(2);
  pieces_of(10, 1);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i)
      if (pieces_of(10, 1).size() != 10) _exit(1);
    set_num_threads(3);
    _exit(pieces_of(10, 1).size() == 10 ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pieces_of(10, 1).size(), 10u);
}
#endif

}  // namespace
}  // namespace kiln
