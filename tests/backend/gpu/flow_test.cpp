// Conditions, loops, barriers and shuffles, against loops of C++.
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

constexpr int kThreads = 96;

/// What a kernel of two blocks leaves, a number for each thread.
template <class F>
std::vector<std::int32_t> made_by(F write) {
  std::vector<std::int32_t> out(2 * kThreads, -77);
  Builder k("flow", kThreads);
  const Buffer to = k.output(DType::I32);
  const Expr t = k.block() * kThreads + k.thread();
  write(k, to, t);
  run(k.finish(), 2, {out});
  return out;
}
template <class F>
std::vector<std::int32_t> each_thread(F f) {
  std::vector<std::int32_t> all;
  for (std::int32_t t = 0; t < 2 * kThreads; ++t) all.push_back(f(t));
  return all;
}

TEST(Flow, TakesOneWayOrTheOther) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local x = k.variable(t);
    k.when(
        t % 3 == 0, [&] { x.set(x.get() + 100); },
        [&] { k.when(t % 2 == 0, [&] { x.set(x.get() * 2); }, [&] { x.set(-x.get()); }); });
    k.when(t == 5, [&] { x.set(k.literal(DType::I32, 1000)); });
    to.store(t, x);
  });
  EXPECT_EQ(made, each_thread([](int t) { return t == 5 ? 1000 : t % 3 == 0 ? t + 100 : t % 2 == 0 ? 2 * t : -t; }));
}

TEST(Flow, CountsForEachThreadByItself) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local sum = k.variable(k.literal(DType::I32, 0));
    k.loop(t % 5, t % 17, t % 3 + 1, [&](const Expr& i) {
      k.loop(k.literal(DType::I32, 0), i, k.literal(DType::I32, 2),
             [&](const Expr& j) { sum.set(sum.get() + i * j + 1); });
      k.when(i % 2 == 1, [&] { sum.set(sum.get() ^ 5); });
    });
    to.store(t, sum);
  });
  EXPECT_EQ(made, each_thread([](int t) {
              int sum = 0;
              for (int i = t % 5; i < t % 17; i += t % 3 + 1) {
                for (int j = 0; j < i; j += 2) sum += i * j + 1;
                if (i % 2 == 1) sum ^= 5;
              }
              return sum;
            }));
}

TEST(Flow, CountsInAllIntegers) {
  for (const DType type : {DType::I32, DType::U32, DType::I64, DType::U64}) {
    const auto made = made_by([&](Builder& k, const Buffer& to, const Expr& t) {
      const Local sum = k.variable(k.literal(type, 0));
      k.loop(k.literal(type, 3), t.as(type), k.literal(type, 7), [&](const Expr& i) { sum.set(sum.get() + i); });
      to.store(t, sum.get().as(DType::I32));
    });
    EXPECT_EQ(made, each_thread([](int t) {
                int sum = 0;
                for (int i = 3; i < t; i += 7) sum += i;
                return sum;
              }));
  }
}

TEST(Flow, EndsWhereNumbersEnd) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local rounds = k.variable(k.literal(DType::I32, 0));
    k.loop(k.literal(DType::I32, 2147483600), k.literal(DType::I32, 2147483647), t % 40 + 20,
           [&](const Expr&) { rounds.set(rounds.get() + 1); });
    to.store(t, rounds);
  });
  EXPECT_EQ(made, each_thread([](int t) { return (46 + t % 40 + 20) / (t % 40 + 20); }));
}

TEST(Flow, GoesOnWhileSomethingHolds) {  // Collatz
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local n = k.variable(t + 1), rounds = k.variable(k.literal(DType::I32, 0));
    k.loop_while([&] { return n.get() != 1; },
                 [&] {
                   k.when(n.get() % 2 == 0, [&] { n.set(n.get() / 2); }, [&] { n.set(n.get() * 3 + 1); });
                   rounds.set(rounds.get() + 1);
                 });
    to.store(t, rounds);
  });
  EXPECT_EQ(made, each_thread([](int t) {
              int rounds = 0;
              for (int n = t + 1; n != 1; ++rounds) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
              return rounds;
            }));
}

TEST(Flow, KeepsTruths) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local found = k.variable(k.boolean(false));
    k.loop(k.literal(DType::I32, 2), t, k.literal(DType::I32, 1),
           [&](const Expr& i) { found.set(found.get() | (t % i == 0)); });
    k.when(found, [&] { to.store(t, k.literal(DType::I32, 1)); }, [&] { to.store(t, k.literal(DType::I32, 0)); });
  });
  EXPECT_EQ(made, each_thread([](int t) {
              for (int i = 2; i < t; ++i)
                if (t % i == 0) return 1;
              return 0;
            }));
}

TEST(Flow, EndsWhereNumbersEndForAllAlike) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local rounds = k.variable(k.literal(DType::I32, 0));
    k.loop(k.literal(DType::I32, 2147483600), k.literal(DType::I32, 2147483647), k.literal(DType::I32, 40),
           [&](const Expr&) { rounds.set(rounds.get() + 1); });
    to.store(t, rounds);
  });
  EXPECT_EQ(made, each_thread([](int) { return 2; }));
}

TEST(Flow, UnrollsLoopsOverRegisters) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Local all = k.local(DType::I32, 6);
    k.unrolled(6, [&](const Expr& i) { all.set(i, t * i); });
    const Local sum = k.variable(k.literal(DType::I32, 0));
    k.unrolled(6, [&](const Expr& i) { sum.set(sum.get() * 3 + all[5 - i]); });
    k.unrolled(1, [&](const Expr& i) { sum.set(sum.get() + i + 1); });
    to.store(t, sum);
  });
  EXPECT_EQ(made, each_thread([](int t) {
              int sum = 0;
              for (int i = 0; i < 6; ++i) sum = sum * 3 + t * (5 - i);
              return sum + 1;
            }));
}

TEST(Flow, ReversesThroughSharedMemory) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    const Shared all = k.shared(DType::I16, kThreads);
    k.loop(k.literal(DType::I32, 0), k.literal(DType::I32, 3), k.literal(DType::I32, 1), [&](const Expr& i) {
      k.barrier();
      all.store(k.thread(), t + i);
      k.barrier();
      to.store(t, all[kThreads - 1 - k.thread()]);
    });
  });
  EXPECT_EQ(made, each_thread([](int t) { return t / kThreads * kThreads + kThreads - 1 - t % kThreads + 2; }));
}

TEST(Flow, ShufflesAmongTheLanesOfAWarp) {
  for (const DType type : {DType::I32, DType::F32, DType::F64, DType::U64}) {
    const auto made = made_by([&](Builder& k, const Buffer& to, const Expr& t) {
      const Expr x = (t * 10).as(type);
      const Expr next = k.shuffle(x, (k.lane() + 1) % kLanes);
      to.store(t, next.as(DType::I32) + k.shuffle_xor(x, 4).as(DType::I32) + k.warp());
    });
    EXPECT_EQ(made, each_thread([](int t) {
                const int lane = t % 32, first = t - lane;
                return (first + (lane + 1) % 32) * 10 + (first + (lane ^ 4)) * 10 + t % kThreads / 32;
              }));
  }
  const auto truths = made_by(
      [](Builder& k, const Buffer& to, const Expr& t) { to.store(t, k.shuffle_xor(t % 3 == 0, 1).as(DType::I32)); });
  EXPECT_EQ(truths, each_thread([](int t) { return (t ^ 1) % 3 == 0 ? 1 : 0; }));
}

TEST(Flow, AWholeWarpMayShuffleWithoutTheOthers) {
  const auto made = made_by([](Builder& k, const Buffer& to, const Expr& t) {
    to.store(t, t);
    k.when(k.warp() == 1, [&] { to.store(t, k.shuffle_xor(t, 31)); });
  });
  EXPECT_EQ(made, each_thread([](int t) { return t % kThreads / 32 == 1 ? t ^ 31 : t; }));
}

TEST(Flow, KnowsBlocksAndHowManyThereAre) {
  std::vector<std::int64_t> out(1000);
  Builder k("blocks", 32);
  const Buffer to = k.output(DType::I64);
  k.when(k.thread() == 0, [&] { to.store(k.block(), (k.block() * 2000 + k.blocks()).as(DType::I64)); });
  run(k.finish(), 1000, {out});
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i * 2000 + 1000);
}

// ---- blocks that meet ----------------------------------------------------------------------------------------------

/// Each block adds up what all have left in the round before.
Kernel meeting(int rounds, int missing = 0) {
  Builder k("meeting", 32);
  const Buffer values = k.both(DType::I32), cells = k.both(DType::I32);
  const Expr blocks = k.blocks(), none = k.literal(DType::I32, 0), one = k.literal(DType::I32, 1);
  k.loop(none, k.literal(DType::I32, rounds), one, [&](const Expr& round) {
    const Local sum = k.variable(none);
    k.loop(none, blocks, one, [&](const Expr& i) { sum.set(sum.get() + values[round % 2 * blocks + i]); });
    k.when(k.thread() == 0, [&] { values.store((round + 1) % 2 * blocks + k.block(), sum.get() + k.block()); });
    k.meet(cells, k.literal(DType::I32, 1), (round + 1) * (blocks + missing));
  });
  return k.finish();
}

TEST(Meeting, LetsEveryBlockSeeWhatAllHaveStored) {
  std::vector<std::int32_t> values{1, 2, 3, 4, 5, 0, 0, 0, 0, 0}, cells{7, 0, 7};
  run(meeting(3), 5, {values, cells});
  const int first = 15, second = 5 * first + 10, third = 5 * second + 10;
  EXPECT_EQ(values, (std::vector<std::int32_t>{second, second + 1, second + 2, second + 3, second + 4, third, third + 1,
                                               third + 2, third + 3, third + 4}));
  EXPECT_EQ(cells, (std::vector<std::int32_t>{7, 15, 7}));
}

TEST(Meeting, TellsOfBlocksThatDoNotCome) {
  std::vector<std::int32_t> values(6, 1), cells(2, 0);
  const std::string said = sentence_of([&] {
    run(meeting(1, 1), 3, {values, cells});
    return 0;
  });
  EXPECT_EQ(said.find("DeviceError: kernel meeting, block "), 0u) << said;
  EXPECT_NE(said.find("waits for 4 blocks, of which only 3 come"), said.npos) << said;
}

TEST(Meeting, IsOfWholeBlocks) {
  const std::string said = said_of([](Builder& k, const Buffer& x) {
    k.when(k.thread() < 3, [&] { k.meet(x, k.literal(DType::I32, 0), k.literal(DType::I32, 2)); });
  });
  EXPECT_EQ(said, "DeviceError: kernel wrong, block 0: only 3 of 64 threads get to a barrier");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { k.meet(x, k.thread(), k.literal(DType::I32, 2)); }),
            "DeviceError: kernel wrong, block 0: its threads meet other blocks at different cells");
}

}  // namespace
}  // namespace kiln::gpu
