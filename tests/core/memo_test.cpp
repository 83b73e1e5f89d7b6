#include "kiln/core/memo.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

/// Counts how many there are.
struct Counted {
  explicit Counted(int number) : number(number) { ++alive; }
  Counted(const Counted&) = delete;
  ~Counted() { --alive; }
  int number;
  static inline std::atomic<int> alive = 0;
};

TEST(Memo, MakesAThingOnceForEachMaker) {
  {
    const Memo memo;
    int made = 0;
    const auto make = [&] { return Counted(++made); };
    const Counted& first = memo.get<Counted>(1, make);
    EXPECT_EQ(first.number, 1);
    EXPECT_EQ(memo.get<Counted>(2, make).number, 2);
    EXPECT_EQ(&memo.get<Counted>(1, make), &first);
    EXPECT_EQ(made, 2);
    EXPECT_EQ(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Memo, KeepsThingsOfDifferentTypesApart) {
  const Memo memo;
  EXPECT_EQ(memo.get<std::string>(0, [] { return std::string("a kernel"); }), "a kernel");
  EXPECT_EQ(memo.get<double>(0, [] { return 2.5; }), 2.5);
  EXPECT_EQ(memo.get<std::string>(0, [] { return std::string("another"); }), "a kernel");
}

TEST(Memo, GivesAllThreadsTheSame) {
  for (int round = 0; round < 200; ++round) {
    const Memo memo;
    std::atomic<int> waiting = 4;
    std::vector<const Counted*> found(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        --waiting;
        while (waiting) {}
        found[2 * i] = &memo.get<Counted>(1, [] { return Counted(1); });
        found[2 * i + 1] = &memo.get<Counted>(2, [] { return Counted(2); });
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 8; ++i) {
      ASSERT_EQ(found[i], found[i % 2]);
      ASSERT_EQ(found[i]->number, static_cast<int>(i % 2) + 1);
    }
    ASSERT_EQ(Counted::alive, 2);
  }
}

}  // namespace
}  // namespace kiln
