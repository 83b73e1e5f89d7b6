#include "kiln/backend/cpu/simd/recurrent/step_pipeline.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// Counts what is done, and whether a step began before the last one was whole.
struct Book {
  const int64_t members;
  std::vector<std::atomic<int64_t>> done;
  std::atomic<int64_t> early = 0, twice = 0;
  std::vector<std::atomic<bool>> items;

  Book(int64_t members_of, int64_t steps)
      : members(members_of),
        done(static_cast<std::size_t>(steps)),
        items(static_cast<std::size_t>(steps * members_of)) {}
  void note(int64_t step, int64_t item) {
    if (step > 0 && done[static_cast<std::size_t>(step - 1)] < members) ++early;
    if (items[static_cast<std::size_t>(step * members + item)].exchange(true)) ++twice;
    ++done[static_cast<std::size_t>(step)];
  }
  void expect_whole() const {
    EXPECT_EQ(early, 0);
    EXPECT_EQ(twice, 0);
    for (const auto& count : done) EXPECT_EQ(count, members);
  }
};

/// Members `present` of `members` take part, each after as many milliseconds as it waits.
template <class Work>
void take_part(StepPipeline& pipeline, const std::vector<std::pair<int64_t, int>>& present, const Work& work) {
  std::vector<std::thread> threads;
  for (const auto& [member, wait] : present)
    threads.emplace_back([&, member = member, wait = wait] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      pipeline.run(member, work);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(StepPipeline, BeginsNoStepBeforeTheLastIsWhole) {
  Book book(5, 400);
  StepPipeline pipeline(5, 400);
  take_part(pipeline, {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}},
            [&](int64_t step, int64_t item) { book.note(step, item); });
  book.expect_whole();
}

TEST(StepPipeline, DoesTheItemsOfWhoDoesNotCome) {
  Book book(4, 50);
  StepPipeline pipeline(4, 50);
  take_part(pipeline, {{2, 0}}, [&](int64_t step, int64_t item) { book.note(step, item); });
  book.expect_whole();
}

TEST(StepPipeline, LetsWhoComesLateBeginWhereTheOthersAre) {
  Book book(3, 60);
  StepPipeline pipeline(3, 60);
  const auto work = [&](int64_t step, int64_t item) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    book.note(step, item);
  };
  take_part(pipeline, {{0, 0}, {1, 2}, {2, 100}}, work);
  book.expect_whole();
}

TEST(StepPipeline, GoesOnWithoutWhoTakesLong) {
  Book book(3, 200);
  StepPipeline pipeline(3, 200);
  const auto slow = std::this_thread::get_id();
  const auto work = [&](int64_t step, int64_t item) {
    if (std::this_thread::get_id() == slow) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    book.note(step, item);
  };
  std::thread a([&] { pipeline.run(0, work); }), b([&] { pipeline.run(1, work); });
  pipeline.run(2, work);
  a.join(), b.join();
  book.expect_whole();
}

TEST(StepPipeline, EndsForAllWhenWorkThrows) {
  StepPipeline pipeline(3, 1000);
  std::atomic<int> thrown = 0;
  const auto work = [&](int64_t step, int64_t item) {
    if (step == 7 && item == 1) throw std::runtime_error("no more");
  };
  const auto member = [&](int64_t own) {
    try {
      pipeline.run(own, work);
    } catch (const std::runtime_error&) { ++thrown; }
  };
  std::thread a([&] { member(0); }), b([&] { member(1); });
  member(2);
  a.join(), b.join();
  EXPECT_EQ(thrown, 1);
}

}  // namespace
}  // namespace kiln::cpu::simd
