// Devices that go on while the program does: reads that do not wait, errors that are found late, work that starts early.
#include <gtest/gtest.h>

#include <atomic>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/inspect/profile.hpp"
#include "kiln/backend/inspect/verify.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "tests/support/backends/devices.hpp"
#include "tests/support/backends/late_reads.hpp"
#include "tests/support/backends/queued.hpp"

namespace kiln::test {
namespace {

using fusion::Fusion;

/// Reads of `value` while no data can arrive, and the number once they do.
template <class Hold, class Release>
double read_without_waiting(const Value& value, Hold hold, Release release) {
  hold();
  const Ref<PendingRead> read = start_read({&value, 1});
  EXPECT_FALSE(read->ready());
  static std::atomic<int> woken;
  woken = 0;
  read->notify({[](void*) { ++woken; }, nullptr});
  EXPECT_EQ(woken, 0);
  release();
  const double number = read->wait()[0].at(0);
  EXPECT_TRUE(read->ready());
  while (!woken) std::this_thread::yield();
  return number;
}

TEST(LateReads, DoNotBlockBehindAnyDecorator) {
  const auto late = make_ref<LateReads>(plain_cpu());
  const Device plain(late), fused(make_ref<Fusion>(late));
  const Profile profile(fused), plain_profile(plain);
  const Verify verify(fused, {.reference = Device::parse("reference")});
  for (const Device& device : {plain, fused, profile.device(), plain_profile.device()}) {
    const Value x = full({3}, 2.0, device, DType::F32) * 3 + 1;
    EXPECT_EQ(read_without_waiting(x, [&] { late->reader.hold(); }, [&] { late->reader.release(); }), 7);
  }
  // Verify reads what it checks; what the program asks for waits for that alone.
  const Value x = full({3}, 2.0, verify.device(), DType::F32) * 3 + 1;
  EXPECT_EQ(start_read({&x, 1})->wait()[0].at(2), 7);
  EXPECT_GE(verify.compared(), 2);
}

TEST(LateReads, AreTimedWhenTheyAreTaken) {
  const Profile profile(Device(make_ref<LateReads>(plain_cpu())));
  const Value x = full({3}, 2.0, profile.device(), DType::F32), y = x + 1;
  const Value both[] = {x, y};
  (void)start_read(both)->wait();
  std::int64_t reads = 0;
  for (const ProfileRow& row : profile.rows())
    if (row.name == "read") reads += row.calls;
  EXPECT_EQ(reads, 2);
}

struct Behind {
  Ref<Queued> queued = make_ref<Queued>(plain_cpu());
  Device device;
};
Behind plainly() {
  Behind behind;
  behind.device = Device(behind.queued, true);
  return behind;
}
Behind fused() {
  Behind behind;
  behind.device = Device(make_ref<Fusion>(behind.queued), true);
  return behind;
}

TEST(Queued, TellsWhatItKnowsOfAValue) {
  for (const Behind& behind : {plainly(), fused()}) {
    const Value x = full({2}, 1.0, behind.device, DType::F32);
    behind.device.sync();
    behind.queued->worker.hold();
    const Value y = x + 1;
    run_pending({&y, 1});
    EXPECT_EQ(behind.device.backend().state(y), Backend::State::Waiting);
    EXPECT_FALSE(y.node()->storage->ready());
    behind.queued->worker.release();
    behind.device.sync();
    EXPECT_EQ(behind.device.backend().state(y), Backend::State::Arrived);
    EXPECT_EQ(y.data().at(0), 2);
  }
}

TEST(Queued, MarksWhatIsMadeOfAnErrorThatItFindsLate) {
  for (const Behind& behind : {plainly(), fused()}) {
    const Value table = full({4, 2}, 1.0, behind.device, DType::F32);
    const Value far = full({1}, 9, behind.device, DType::I64);
    behind.device.sync();
    behind.queued->worker.hold();
    const Value wrong = select(table, 0, far), doubled = exp(wrong) * 2, right = table + 1;
    behind.device.flush();
    run_pending({&doubled, 1});  // nothing is known yet
    behind.queued->worker.release();
    EXPECT_EQ(right.data().at(0), 2);
    EXPECT_THROW((void)doubled.data(), IndexError);
    EXPECT_EQ(behind.device.backend().state(doubled), Backend::State::Failed);
    EXPECT_EQ(behind.device.backend().state(right), Backend::State::Arrived);
    EXPECT_THROW(run_pending({&wrong, 1}), IndexError);
    EXPECT_THROW(read({&wrong, 1}), IndexError);
    EXPECT_THROW((void)(wrong + right.data().at(0)).data(), IndexError);
    behind.device.sync();  // the error has been thrown once
  }
}

TEST(Queued, FailsInAScopeWhatIsAskedForThereAlone) {
  for (const Behind& behind : {plainly(), fused()}) {
    const Value table = full({4}, 1.0, behind.device, DType::F32);
    const Value wrong = select(table, 0, full({1}, -1, behind.device, DType::I64));
    EXPECT_THROW((void)wrong.data(), IndexError);
    const Value before = table + 1;
    const FailsWith scope({&wrong, 1});
    const Value within = table * 3;
    EXPECT_EQ(before.data().at(0), 2);  // although it may run only now
    EXPECT_THROW((void)within.data(), IndexError);
  }
}

TEST(Queued, TellsSyncOfWhatNobodyRead) {
  for (const Behind& behind : {plainly(), fused()}) {
    const Value wrong = select(full({4}, 1.0, behind.device, DType::F32), 0, full({1}, -1, behind.device, DType::I64));
    EXPECT_THROW(behind.device.sync(), IndexError);
    behind.device.sync();
    EXPECT_THROW((void)wrong.data(), IndexError);
  }
}

TEST(FusionOfADeviceThatRunsByItself, StartsItBeforeAnybodyReads) {
  const Behind behind = fused();
  auto& fusion = static_cast<Fusion&>(behind.device.backend());
  Value x = full({8}, 1.0, behind.device, DType::F32);
  for (int i = 1; i < 28; ++i) x = x + 1;
  EXPECT_EQ(fusion.statistics().segments, 3);  // of 4, 8 and 16 operations
  EXPECT_EQ(fusion.statistics().recorded, 28);
  EXPECT_EQ(x.data().at(0), 28);
  for (int i = 0; i < 4; ++i) x = x + 1;
  EXPECT_EQ(fusion.statistics().segments, 4);  // who reads starts anew
}

TEST(FusionOfAProcessor, WaitsUntilSomebodyReads) {
  const Device device(make_ref<Fusion>(plain_cpu()));
  Value x = full({8}, 1.0, device, DType::F32);
  for (int i = 1; i < 1000; ++i) x = x + 1;
  EXPECT_EQ(static_cast<Fusion&>(device.backend()).statistics().segments, 0);
  EXPECT_EQ(x.data().at(0), 1000);
}

// What a read gives in one thread is what another sees.
TEST(Queued, TakesProgramsOfManyThreads) {
  const Behind behind = fused();
  const Value shared = full({16}, 1.0, behind.device, DType::F32) * 2;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        Value x = shared;
        for (int i = 0; i < 10 + thread; ++i) x = x + 1;
        if (x.data().at(3) != 12 + thread) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kiln::test
