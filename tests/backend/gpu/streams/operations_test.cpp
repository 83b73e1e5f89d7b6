// Operations do more than read their operands in threads with streams of their own: tables, kernels of users, collectives of
// ranks, checks of data; and many threads at once.
#include <gtest/gtest.h>

#include <thread>

#include "kiln/backend/gpu/custom.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/scope/device_stream.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/tensor/custom.hpp"
#include "tests/backend/gpu/streams/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::gpu::test {
namespace {

// ---- what operations keep -------------------------------------------------------------------------------------------

TEST(GpuStreams, ShareTables) {
  const Machine on;
  const Value x = tensor(counted(1), on.device);
  const DeviceStream own(on.device);
  const Value z = rfft(x);
  Floats found;
  std::thread([&] { found = floats(real(rfft(x))); }).join();
  EXPECT_EQ(found, floats(real(z)));
  EXPECT_EQ(found[0], kCount * (kCount + 1) / 2);
}

/// Adds a tensor that is no operand.
struct AddKept {
  Value kept;
  std::string name() const { return "add_kept"; }
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + kept; }
  bool run(std::string_view backend, Call call) const;
};
struct AddKernel {
  Kernel kernel() const {
    Builder k("add_kept", 128);
    const Buffer x = k.input(DType::F32), other = k.input(DType::F32), y = k.output(DType::F32);
    const Expr count = k.number(DType::I64), i = k.place(DType::I64);
    k.when(i < count, [&] { y.store(i, x[i] + other[i]); });
    return k.finish();
  }
};
bool AddKept::run(std::string_view backend, Call call) const {
  Gpu* const gpu = as_gpu(backend);
  if (!gpu) return false;
  const Array x = gpu::read(call.in[0]), other = gpu::read(kept), y = gpu->allocate(call.out[0]);
  gpu->launch(AddKernel{}, blocks_for(kCount, 128), {x, other, y, kCount});
  return true;
}

TEST(GpuStreams, RunKernelsOfUsersAlone) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value x = tensor(counted(1), on.device);
  Value kept = x * 2, y;
  const std::byte* const place = address(kept);
  std::thread([&] {
    const Value other = tensor(counted(1), on.device);
    y = custom(make_ref<const UserOpFace<AddKept>>(AddKept{kept}), Values{other})[0];
  }).join();
  kept = {};
  const Value next = tensor(counted(9000), on.device);
  ASSERT_EQ(address(next), place);
  EXPECT_EQ(floats(next), counted(9000));
  EXPECT_EQ(floats(y), times(counted(1), 3));
}

TEST(GpuStreams, RunKernelsOfUsersAfterOthers) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value x = tensor(counted(1), on.device), kept = x * 2;
  Floats found;
  std::thread([&] {
    const Value other = tensor(counted(1), on.device);
    found = floats(custom(make_ref<const UserOpFace<AddKept>>(AddKept{kept}), Values{other})[0]);
  }).join();
  EXPECT_EQ(found, times(counted(1), 3));
}

// ---- ranks, which meet beside all streams --------------------------------------------------------------------------

TEST(GpuStreams, BringWhatIsComputedToOtherRanks) {
  const Machine on;
  const Ranks alone = thread_ranks(1)[0];
  const DeviceStream own(on.device);
  const Value sum = all_reduce(tensor(counted(1), on.device) * 2, alone);
  Floats found;
  std::thread([&] { found = floats(sum); }).join();
  EXPECT_EQ(found, times(counted(1), 2));
  EXPECT_EQ(floats(sum * 2), times(counted(1), 4));
}

TEST(GpuStreams, WaitForOtherRanksThroughTheFirst) {
  const Machine on;
  const Ranks alone = thread_ranks(1)[0];
  const DeviceStream own(on.device);
  const auto sum = [&](float first) {
    return all_reduce(reshape(tensor(counted(first), on.device), {2, kCount / 2}), alone);
  };
  EXPECT_EQ(floats(sum(1)), counted(1));
  EXPECT_EQ(floats(sum(2) * 2), times(counted(2), 2)) << "an operation";
  const Floats mixed = floats(reshape(permute(sum(3), {1, 0}), {kCount}));  // a view, but for its elements
  for (std::size_t i = 0; i < mixed.size(); ++i)
    ASSERT_EQ(mixed[i], static_cast<float>(i % 2 * (kCount / 2) + i / 2 + 3)) << i;
}

TEST(GpuStreams, KeepMemoryUntilOtherRanksHaveReadIt) {
  const Machine on;
  const Ranks alone = thread_ranks(1)[0];
  const DeviceStream own(on.device);
  Value x = tensor(counted(1), on.device);
  const std::byte* const place = address(x);
  Value sum = all_reduce(x, alone), next;
  x = {};
  Value later;
  std::thread([&] { later = tensor(counted(7), on.device); }).join();
  EXPECT_EQ(floats(later * 1), counted(7));  // waits for the first stream, which waits for no rank
  std::thread([&] { next = sum * 2; }).join();
  const Value other = tensor(counted(5000), on.device);
  ASSERT_EQ(address(other), place);
  EXPECT_EQ(floats(other), counted(5000));
  EXPECT_EQ(floats(next), times(counted(1), 2));
}

// ---- wrong data ----------------------------------------------------------------------------------------------------

Value indices(const std::vector<std::int64_t>& numbers, const Device& device) {
  return from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers), device);
}
constexpr const char* kWrong = "IndexError: gather: index 5000 is out of range for dimension 0 of size 1000";

TEST(GpuStreams, TellOfWrongDataInAnyThread) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value x = tensor(counted(1), on.device);
  const Value y = gather(x, 0, indices({3, 5000}, on.device));
  std::string said;
  std::thread([&] { said = sentence_of([&] { return (y * 2).data(); }); }).join();
  EXPECT_EQ(said, kWrong);
}

TEST(GpuStreams, TellOfWrongDataAtTheNextSync) {
  const Machine on;
  {
    const DeviceStream own(on.device);
    (void)gather(tensor(counted(1), on.device), 0, indices({3, 5000}, on.device));
  }
  EXPECT_EQ(sentence_of([&] { return on.device.sync(), 0; }), kWrong);
  {
    const DeviceStream own(on.device);
    (void)gather(tensor(counted(1), on.device), 0, indices({3, 5000}, on.device));
    EXPECT_EQ(sentence_of([&] { return on.device.sync(), 0; }), kWrong);
  }
  on.device.sync();
}

TEST(GpuStreams, LetAnotherThreadSynchronize) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value y = gather(tensor(counted(1), on.device), 0, indices({3, 5000}, on.device));
  std::thread([&] { on.device.sync(); }).join();
  EXPECT_EQ(sentence_of([&] { return y.data(); }), kWrong);
}

TEST(GpuStreams, DoNotWaitForChecksOfOthers) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value y = gather(tensor(counted(1), on.device), 0, indices({3, 4}, on.device));
  const int before = on.driver->waits;
  std::thread([&] {
    on.device.backend().flush();
    EXPECT_EQ(floats(tensor(counted(1), on.device)), counted(1));
  }).join();
  EXPECT_EQ(on.driver->waits, before);
  EXPECT_EQ(floats(y), (Floats{4, 5}));
}

// ---- many ----------------------------------------------------------------------------------------------------------

/// Threads that hand tensors to each other, with and without streams of their own, plain and fused.
void exchange(const Device& device, int threads, int rounds, bool all_own) {
  std::mutex mutex;
  std::vector<Value> shared(static_cast<std::size_t>(threads));
  std::vector<std::vector<double>> known(shared.size(), std::vector<double>(64));
  for (std::size_t i = 0; i < shared.size(); ++i) {
    for (std::size_t k = 0; k < 64; ++k) known[i][k] = static_cast<double>(i + k);
    shared[i] = from_data(TensorData::of<double>({64}, known[i]), device);
  }
  const auto work = [&](std::size_t me) {
    std::unique_ptr<DeviceStream> own;
    if (all_own || me) own = std::make_unique<DeviceStream>(device);
    std::uint64_t seed = me + 1;
    for (int round = 0; round < rounds; ++round) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const std::size_t a = (seed >> 33) % shared.size(), b = (seed >> 43) % shared.size(), c = (seed >> 53) % 4;
      Value x, y;
      std::vector<double> in, other;
      {
        const std::lock_guard lock(mutex);
        x = shared[a], y = shared[b];
        in = known[a], other = known[b];
      }
      Value z = (x + y) * 0.5;
      for (std::size_t k = 0; k < 64; ++k) in[k] = (in[k] + other[k]) * 0.5;
      if (c == 0) { EXPECT_EQ(z.data().to_vector<double>(), in); }
      x = y = {};
      if (c == 1) own = nullptr;
      if (c == 2 && !own) own = std::make_unique<DeviceStream>(device);
      const std::lock_guard lock(mutex);
      shared[me] = std::move(z);
      known[me] = in;
    }
  };
  std::vector<std::thread> all;
  for (std::size_t i = 0; i < shared.size(); ++i) all.emplace_back(work, i);
  for (std::thread& each : all) each.join();
  for (std::size_t i = 0; i < shared.size(); ++i) EXPECT_EQ(shared[i].data().to_vector<double>(), known[i]);
  device.sync();
}

TEST(GpuStreams, HandOnTensors) {
  const Machine on;
  exchange(on.device, 4, 100, true);
  exchange(on.device, 3, 100, false);
  exchange(Device(make_ref<fusion::Fusion>(on.gpu)), 3, 100, false);
}

}  // namespace
}  // namespace kiln::gpu::test
