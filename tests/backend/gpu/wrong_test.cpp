// What a GPU would leave undefined is an error that says what and where.
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

TEST(WrongKernels, ReadWhatAnotherThreadWroteWithoutABarrier) {
  EXPECT_EQ(
      said_of([](Builder& k, const Buffer& x) {
        const Shared all = k.shared(DType::I32, 64);
        all.store(k.thread(), k.thread());
        x.store(k.thread(), all[63 - k.thread()]);
      }),
      "DeviceError: kernel wrong, block 0: threads 63 and 0 meet at element 63 of shared array 0 without a barrier "
      "between them: the one writes, the other reads");
}

TEST(WrongKernels, WriteWhatAnotherThreadStillReads) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              const Shared all = k.shared(DType::I32, 64);
              all.store(k.thread(), k.thread());
              k.barrier();
              x.store(k.thread(), all[k.thread() ^ 1]);
              all.store(k.thread(), k.thread() + 1);
            }),
            "DeviceError: kernel wrong, block 0: threads 1 and 0 meet at element 0 of shared array 0 without a barrier "
            "between them: the one reads, the other writes");
}

TEST(WrongKernels, WriteToOnePlaceFromTwoThreads) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              const Shared all = k.shared(DType::I32, 64);
              all.store(k.thread() / 2, k.thread());
            }),
            "DeviceError: kernel wrong, block 0: threads 0 and 1 meet at element 0 of shared array 0 without a barrier "
            "between them: the one writes, the other writes");
}

TEST(WrongKernels, ReadWhatOthersUpdateAndStoreWhatOthersUpdate) {
  EXPECT_EQ(
      said_of([](Builder& k, const Buffer& x) {
        const Shared sum = k.shared(DType::I32, 1);
        k.when(k.thread() == 0, [&] { sum.store(k.literal(DType::I32, 0), k.literal(DType::I32, 0)); });
        k.barrier();
        sum.update(Update::Add, k.literal(DType::I32, 0), k.thread());
        x.store(k.thread(), sum[k.literal(DType::I32, 0)]);
      }),
      "DeviceError: kernel wrong, block 0: threads 63 and 0 meet at element 0 of shared array 0 without a barrier "
      "between them: the one writes, the other reads");
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              const Shared sum = k.shared(DType::I32, 1);
              k.when(k.thread() == 0, [&] { sum.store(k.literal(DType::I32, 0), k.literal(DType::I32, 0)); });
              sum.update(Update::Add, k.literal(DType::I32, 0), k.thread());
            }),
            "DeviceError: kernel wrong, block 0: threads 0 and 1 meet at element 0 of shared array 0 without a barrier "
            "between them: the one writes, the other writes");
}

TEST(WrongKernels, WriteWhatManyReadEvenIfTheyReadItThemselves) {
  EXPECT_EQ(
      said_of([](Builder& k, const Buffer& x) {
        const Shared one = k.shared(DType::I32, 1);
        const Expr zero = k.literal(DType::I32, 0);
        k.when(k.thread() == 0, [&] { one.store(zero, zero); });
        k.barrier();
        x.store(k.thread(), one[zero]);
        k.when(k.thread() == 0, [&] { one.store(zero, zero); });
      }),
      "DeviceError: kernel wrong, block 0: threads 63 and 0 meet at element 0 of shared array 0 without a barrier "
      "between them: the one reads, the other writes");
}

TEST(WrongKernels, UpdateWhatTheyStoredThemselvesAndOthersUpdate) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              const Shared sum = k.shared(DType::I32, 1);
              const Expr zero = k.literal(DType::I32, 0);
              k.when(k.thread() == 0, [&] {
                sum.store(zero, zero);
                sum.update(Update::Add, zero, k.thread());
              });
              k.when(k.thread() == 1, [&] { sum.update(Update::Add, zero, k.thread()); });
            }),
            "DeviceError: kernel wrong, block 0: threads 0 and 1 meet at element 0 of shared array 0 without a barrier "
            "between them: the one writes, the other writes");
}

TEST(WrongKernels, ReadWhatNobodyWrote) {
  EXPECT_EQ(
      said_of([](Builder& k, const Buffer& x) {
        const Shared all = k.shared(DType::F16, 64);
        k.when(k.thread() < 63, [&] { all.store(k.thread(), k.literal(DType::F32, 1)); });
        k.barrier();
        x.store(k.thread(), all[k.thread()].as(DType::I32));
      }),
      "DeviceError: kernel wrong, block 0: thread 63 reads element 63 of shared array 0, which nobody has written");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              const Local y = k.local(DType::I32);
              k.when(k.thread() != 9, [&] { y.set(k.thread()); });
              x.store(k.thread(), y);
            }),
            "DeviceError: kernel wrong, block 0: thread 9 reads element 0 of local array 0, which it never set");
}

TEST(WrongKernels, KnowNothingOfTheBlockBefore) {
  std::vector<std::int32_t> memory(64);
  Builder k("second", 32);
  const Buffer x = k.both(DType::I32);
  const Shared all = k.shared(DType::I32, 32);
  k.when(k.block() == 0, [&] { all.store(k.thread(), k.thread()); });
  k.barrier();
  x.store(k.thread(), all[k.thread()]);
  x.update(Update::Add, k.thread(), k.literal(DType::I32, 0));  // so that one worker runs both blocks
  const Kernel kernel = k.finish();
  EXPECT_EQ(
      sentence_of([&] { return run(kernel, 2, {memory}), 0; }),
      "DeviceError: kernel second, block 1: thread 0 reads element 0 of shared array 0, which nobody has written");
}

TEST(WrongKernels, LeaveTheirMemory) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { x.store(k.thread() + 1, k.thread()); }),
            "DeviceError: kernel wrong, block 0: thread 63 touches element 64 of parameter 0, a buffer of int32 where "
            "elements 0 to before 64 are");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { x.store(k.thread(), x[k.thread() - 1]); }),
            "DeviceError: kernel wrong, block 0: thread 0 touches element -1 of parameter 0, a buffer of int32 where "
            "elements 0 to before 64 are");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { x.update(Update::Add, k.thread() * 64, k.thread()); }),
            "DeviceError: kernel wrong, block 0: thread 1 touches element 64 of parameter 0, a buffer of int32 where "
            "elements 0 to before 64 are");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              const Shared all = k.shared(DType::I32, 63);
              all.store(k.thread(), x[k.thread()]);
            }),
            "DeviceError: kernel wrong, block 0: thread 63 touches element 63 of shared array 0, which has 63");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              const Local all = k.local(DType::I32, 4);
              all.set(x[k.thread()] * 4, k.thread());
              x.store(k.thread(), all[0]);
            }),
            "DeviceError: kernel wrong, block 0: thread 0 touches element 4 of local array 0, which has 4");
}

TEST(WrongKernels, TakeSeveralElementsOfWhichTheLastIsOutside) {
  std::vector<std::int32_t> memory(6);
  Builder k("wide", 32);
  const Buffer x = k.both(DType::I32);
  k.when(k.thread() < 2, [&] { x.store(k.thread() * 4, x.load(k.thread() * 4, 4)); });
  const Kernel kernel = k.finish();
  EXPECT_EQ(sentence_of([&] { return run(kernel, 1, {memory}), 0; }),
            "DeviceError: kernel wide, block 0: thread 1 touches element 4 of parameter 0, a buffer of int32 where "
            "elements 0 to before 6 are");
}

TEST(WrongKernels, WhoIsNotThereLeavesNothing) {
  std::vector<std::int32_t> memory(40, 1);
  Builder k("right", 64);
  const Buffer x = k.both(DType::I32);
  k.when(k.thread() < 40, [&] { x.store(k.thread(), x[k.thread()] + 1 / x[k.thread()]); });
  run(k.finish(), 1, {memory});
  EXPECT_EQ(memory, std::vector<std::int32_t>(40, 2));
}

TEST(WrongKernels, TakeSeveralElementsFromBetween) {
  EXPECT_EQ(
      said_of([](Builder& k, const Buffer& x) {
        k.when(k.thread() < 8, [&] { x.load(k.thread() * 4 + 1, 4); });
        k.when(k.thread() < 8, [&] { x.store(k.thread() * 4 + 1, x.load(k.thread() * 4, 4)); });
      }),
      "DeviceError: kernel wrong, block 0: thread 0 takes 4 elements of parameter 0 at once, from 1 on, which do not "
      "lie at a multiple of their size");
}

TEST(WrongKernels, DoNotAllGetToABarrier) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              k.when(x[k.thread()] + k.thread() < 33, [&] { k.barrier(); });
              x.store(k.thread(), k.thread());
            }),
            "DeviceError: kernel wrong, block 0: only 32 of 64 threads get to a barrier");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              k.loop(k.literal(DType::I32, 0), k.thread() + x[k.thread()], k.literal(DType::I32, 1),
                     [&](const Expr&) { k.barrier(); });
            }),
            "DeviceError: kernel wrong, block 0: only 63 of 64 threads get to a barrier");
}

TEST(WrongKernels, DoNotAllGetToAShuffle) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              k.when(k.thread() < 40, [&] { x.store(k.thread(), k.shuffle_xor(k.thread(), 1)); });
            }),
            "DeviceError: kernel wrong, block 0: only 8 of the threads 32 to 63 get to a shuffle");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { x.store(k.thread(), k.shuffle(k.thread(), k.lane() + 1)); }),
            "DeviceError: kernel wrong, block 0: thread 31 asks for lane 32 in a shuffle among 32");
}

TEST(WrongKernels, DivideByZeroAndCountBackwards) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { x.store(k.thread(), x[k.thread()] / (k.thread() - 3)); }),
            "DeviceError: kernel wrong, block 0: thread 3 divides 1 by 0");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              k.loop(k.literal(DType::I32, 0), k.literal(DType::I32, 9), k.thread() - 1,
                     [&](const Expr& i) { x.store(k.thread(), i); });
            }),
            "DeviceError: kernel wrong, block 0: thread 0 counts in steps of -1");
}

TEST(WrongKernels, StoreWhatIsNoBoolean) {
  std::vector<std::uint8_t> truths(32);
  Builder k("truths", 32);
  const Buffer x = k.output(DType::Bool);
  x.store(k.thread(), k.thread());
  const Kernel kernel = k.finish();
  EXPECT_EQ(sentence_of([&] { return run(kernel, 1, {truths}), 0; }),
            "DeviceError: kernel truths, block 0: thread 2 stores 2 as a boolean");
}

TEST(WrongKernels, ChooseDifferentBuffersOrNone) {
  const auto said = [](const std::function<Expr(Builder&)>& which, bool numbers) {
    std::vector<std::int32_t> one(64), other(64);
    return sentence_of([&] {
      Builder k("wrong", 64);
      const Table table = k.outputs(DType::I32, 2);
      const Numbers all = k.numbers(2);
      if (numbers) table[k.block()].store(k.thread(), all[which(k)].as(DType::I32));
      else table[which(k)].store(k.thread(), k.thread());
      run(k.finish(), 1, {one, other, 5, 6});
      return 0;
    });
  };
  EXPECT_EQ(said([](Builder& k) { return k.thread() % 2; }, false),
            "DeviceError: kernel wrong, block 0: threads do not all choose the same buffer");
  EXPECT_EQ(said([](Builder& k) { return k.block() + 2; }, false),
            "DeviceError: kernel wrong, block 0: thread 0 chooses number 2 of a table of 2");
  EXPECT_EQ(said([](Builder& k) { return k.thread() - 1; }, true),
            "DeviceError: kernel wrong, block 0: thread 0 chooses number -1 of a table of 2");
  EXPECT_EQ(said([](Builder& k) { return k.thread() % 2; }, true), "");
}

}  // namespace
}  // namespace kiln::gpu
