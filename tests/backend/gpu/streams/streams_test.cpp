// Threads with streams of their own on a device whose streams do nothing before somebody waits for them (deferred.hpp).
// A missing wait gives wrong numbers each time, and not by luck.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "kiln/backend/gpu/custom.hpp"
#include "kiln/backend/gpu/order/own_stream.hpp"
#include "kiln/backend/gpu/order/stream_use.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "kiln/ops/scope/device_stream.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/tensor/custom.hpp"
#include "tests/backend/gpu/streams/deferred.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::gpu::test {
namespace {

using Floats = std::vector<float>;
constexpr std::int64_t kCount = 1000;

[[maybe_unused]] const bool kRegistered = (register_streams(&open_stream), true);

/// A device of its own for each test.
struct Machine {
  Ref<Deferred> driver = make_ref<Deferred>();
  Ref<Gpu> gpu = make_ref<Gpu>(driver);
  Device device{gpu};
};

Floats counted(float first) {
  Floats numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}
Floats times(Floats numbers, float factor) {
  for (float& number : numbers) number *= factor;
  return numbers;
}
Value tensor(const Floats& numbers, const Device& device) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers), device);
}
Floats floats(const Value& value) { return value.data().to_vector<float>(); }
const std::byte* address(const Value& value) { return static_cast<const Memory&>(*value.node()->storage).bytes(); }

// ---- values --------------------------------------------------------------------------------------------------------

TEST(GpuStreams, HaveTheFirstWaitForAnOwn) {
  const Machine on;
  Value y;
  {
    const DeviceStream own(on.device);
    EXPECT_TRUE(own.is_own());
    y = tensor(counted(1), on.device) * 2;
    std::thread([&] { EXPECT_EQ(floats(y + 1), floats(tensor(times(counted(1), 2), on.device) + 1)); }).join();
  }
  EXPECT_EQ(floats(y), times(counted(1), 2));
}

TEST(GpuStreams, HaveAnOwnWaitForTheFirst) {
  const Machine on;
  const DeviceStream own(on.device);
  Value x;
  std::thread([&] { x = tensor(counted(1), on.device) * 2; }).join();
  EXPECT_EQ(floats(x * 2), times(counted(1), 4));
}

TEST(GpuStreams, HaveOneWaitForAnother) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value x = tensor(counted(1), on.device) * 2;
  Floats read, computed;
  std::thread([&] {
    const DeviceStream other(on.device);
    read = floats(x);
    computed = floats(x * 3);
  }).join();
  EXPECT_EQ(read, times(counted(1), 2));
  EXPECT_EQ(computed, times(counted(1), 6));
}

TEST(GpuStreams, WaitForWritesAlone) {
  const Machine on;
  const Value weight = tensor(counted(1), on.device);
  const DeviceStream own(on.device);
  const Value y = weight * 2;
  const int before = on.driver->waits;
  {
    const DeviceStream other(on.device);
    EXPECT_EQ(floats(weight * 3), times(counted(1), 3));
    EXPECT_EQ(on.driver->waits, before + 1) << "at its beginning: it reads what another reads, too";
  }
  const Value z = y * 2;
  EXPECT_EQ(on.driver->waits, before + 2) << "at the other's end";
  EXPECT_EQ(floats(z), times(counted(1), 4));
}

TEST(GpuStreams, WaitOnceForTheSameWork) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value x = tensor(counted(1), on.device), y = x * 2;
  std::thread([&] {
    const int before = on.driver->waits;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(floats(x * y), floats(y * x));
    EXPECT_EQ(on.driver->waits, before + 1);
  }).join();
}

TEST(GpuStreams, GoThroughViews) {
  const Machine on;
  const DeviceStream own(on.device);
  const Value x = reshape(tensor(counted(1), on.device) * 2, {kCount / 2, 2});
  Floats found;
  std::thread([&] { found = floats(permute(permute(x, {1, 0}), {1, 0}) * 2); }).join();
  EXPECT_EQ(found, times(counted(1), 4));
}

// ---- memory --------------------------------------------------------------------------------------------------------

TEST(GpuStreams, KeepMemoryUntilAnotherHasReadIt) {
  const Machine on;
  Value x = tensor(counted(1), on.device);
  const std::byte* const place = address(x);
  const DeviceStream own(on.device);
  const Value y = x * 2;
  std::thread([&] {
    x = {};
    const Value other = tensor(counted(5000), on.device);
    ASSERT_EQ(address(other), place);
    EXPECT_EQ(floats(other), counted(5000));  // its stream goes first
  }).join();
  EXPECT_EQ(floats(y), times(counted(1), 2));
}

TEST(GpuStreams, KeepMemoryOfAnOwnUntilTheFirstHasReadIt) {
  const Machine on;
  const DeviceStream own(on.device);
  Value x = tensor(counted(1), on.device), y;
  const std::byte* const place = address(x);
  std::thread([&] { y = x * 2; }).join();
  x = {};
  const Value other = tensor(counted(5000), on.device);
  ASSERT_EQ(address(other), place);
  EXPECT_EQ(floats(other), counted(5000));
  EXPECT_EQ(floats(y), times(counted(1), 2));
}

TEST(GpuStreams, DoNotReuseMemoryOfOneForAnother) {
  const Machine on;
  const DeviceStream own(on.device);
  const std::byte* const place = address(tensor(counted(1), on.device));
  std::thread([&] { EXPECT_NE(address(tensor(counted(1), on.device)), place); }).join();
  EXPECT_EQ(address(tensor(counted(1), on.device)), place);
}

// Fusion says which use is the last.
TEST(GpuStreams, WriteInPlaceOnceOthersHaveReadIt) {
  const Machine on;
  const DeviceStream own(on.device);
  Value x = tensor(counted(0), on.device) + 1, y;
  const std::byte* const place = address(x);
  std::thread([&] { y = x * 2; }).join();
  Value in[] = {std::move(x), Value(5.0f)};
  Value out[] = {Value(make_ref<Node>(in[0].node()->desc, on.device))};
  on.gpu->run(op::Binary{op::BinaryFn::Mul}, {in, out, 1});
  in[0] = {};
  EXPECT_EQ(address(out[0]), place) << "it is written in place";
  EXPECT_EQ(floats(out[0]), times(counted(1), 5));
  EXPECT_EQ(floats(y), times(counted(1), 2));
}

TEST(GpuStreams, WriteInPlaceOnlyWhereTheMemoryIsTheirs) {
  const Machine on;
  const DeviceStream own(on.device);
  Value x;
  std::thread([&] { x = tensor(counted(0), on.device) + 1; }).join();
  const std::byte* const place = address(x);
  Value in[] = {std::move(x), Value(5.0f)};
  Value out[] = {Value(make_ref<Node>(in[0].node()->desc, on.device))};
  on.gpu->run(op::Binary{op::BinaryFn::Mul}, {in, out, 1});
  EXPECT_NE(address(out[0]), place);
  EXPECT_EQ(floats(out[0]), times(counted(1), 5));
}

// The first stream has waited for what the batch overwrites, and must wait again.
TEST(GpuStreams, WaitForABatchThatWritesInPlace) {
  const Machine on;
  const DeviceStream own(on.device);
  Value x = tensor(counted(0), on.device) + 1, y = tensor(counted(1), on.device) + 1;
  const std::byte *const x_place = address(x), *const y_place = address(y);
  std::thread([&] {
    EXPECT_EQ(floats(x), counted(1));
    EXPECT_EQ(floats(y), counted(2));
  }).join();
  auto parts = std::make_shared<op::BatchedOps>();
  parts->all.push_back({op::Binary{op::BinaryFn::Mul}, {0, 2}, {0, 1}});
  parts->all.push_back({op::Binary{op::BinaryFn::Mul}, {2, 2}, {1, 1}});
  Value in[] = {std::move(x), Value(5.0f), std::move(y), Value(5.0f)};
  Value out[] = {Value(make_ref<Node>(in[0].node()->desc, on.device)),
                 Value(make_ref<Node>(in[2].node()->desc, on.device))};
  on.gpu->run(op::Batched{parts}, {in, out, 0b101});
  EXPECT_EQ(address(out[0]), x_place) << "it is written in place";
  EXPECT_EQ(address(out[1]), y_place) << "it is written in place";
  std::thread([&] {
    EXPECT_EQ(floats(out[0]), times(counted(1), 5));
    EXPECT_EQ(floats(out[1]), times(counted(2), 5));
  }).join();
}

TEST(GpuStreams, ShareOneLimitOfMemory) {
  const Machine on;
  constexpr std::int64_t kMega = 1 << 20;
  on.device.set_memory_limit(16 * kMega);
  const auto large = [&] { return zeros({2 * kMega}, on.device); };  // 8 MiB
  {
    const DeviceStream own(on.device);
    const Value x = large();
    EXPECT_EQ(on.device.memory().in_use, 8 * kMega);
    EXPECT_EQ(on.device.memory().reserved, 8 * kMega);
    std::string said;
    std::thread([&] {
      const Value y = large();
      said = sentence_of([&] { return large(); });
    }).join();
    EXPECT_NE(said.find("needs 8388608 bytes"), std::string::npos) << said;
  }
  EXPECT_EQ(on.device.memory().in_use, 0);
  EXPECT_EQ(on.device.memory().reserved, 16 * kMega);
  const Value x = large(), y = large();  // what the other stream holds unused is given back for it
  EXPECT_EQ(on.device.memory().in_use, 16 * kMega);
}

// ---- beginning and end ---------------------------------------------------------------------------------------------

// What knows nothing of values is ordered where a scope begins and ends.
TEST(GpuStreams, BeginAfterTheFirstAndEndBeforeIt) {
  const Machine on;
  const Value x = zeros({kCount}, on.device);
  Memory& memory = static_cast<Memory&>(*x.node()->storage);
  const auto raw = [&] {
    Floats found(kCount);
    on.driver->download(memory.bytes(), kCount * 4)->wait(reinterpret_cast<std::byte*>(found.data()));
    return found;
  };
  const auto write = [&](const Floats& numbers) {
    on.driver->upload(memory.bytes(), std::as_bytes(std::span(numbers)));
  };
  write(counted(1));
  {
    const DeviceStream own(on.device);
    EXPECT_EQ(raw(), counted(1));
    write(counted(2));
  }
  EXPECT_EQ(raw(), counted(2));
}

TEST(GpuStreams, Nest) {
  const Machine on;
  const DeviceStream outer(on.device);
  const Value x = tensor(counted(1), on.device);
  EXPECT_EQ(static_cast<const Memory&>(*x.node()->storage).stream(), 1);
  Value y;
  {
    const DeviceStream inner(on.device);
    y = x * 2;
    EXPECT_EQ(static_cast<const Memory&>(*y.node()->storage).stream(), 2);
  }
  const Value z = y * 2;
  EXPECT_EQ(static_cast<const Memory&>(*z.node()->storage).stream(), 1);
  EXPECT_EQ(floats(z), times(counted(1), 4));
}

TEST(GpuStreams, AreSoMany) {
  const Machine on;
  std::vector<std::unique_ptr<DeviceStream>> all;
  for (int i = 1; i < kMostStreams; ++i) all.push_back(std::make_unique<DeviceStream>(on.device));
  EXPECT_EQ(sentence_of([&] { return std::make_unique<DeviceStream>(on.device); }),
            "DeviceError: deferred: 15 threads have a stream of their own, and there are no more; let one of them end "
            "its DeviceStream, or let this thread share the first stream");
  all.erase(all.begin() + 3);
  const DeviceStream again(on.device);
  EXPECT_EQ(floats(tensor(counted(1), on.device) * 2), times(counted(1), 2));
  EXPECT_EQ(on.driver->opened, kMostStreams - 1);
}

TEST(GpuStreams, MayEndInAnotherThread) {
  const Machine on;
  auto own = std::make_unique<DeviceStream>(on.device);
  const Value x = tensor(counted(1), on.device);
  std::thread([&] { own = nullptr; }).join();
  EXPECT_EQ(floats(x * 2), times(counted(1), 2));
  std::thread([&] { EXPECT_EQ(floats(x * 2), times(counted(1), 2)); }).join();
}

TEST(GpuStreams, AreNotThereOnADeviceWithOne) {
  const Device simulated(make_ref<Gpu>(make_simulated()));
  for (const Device& device : {simulated, Device::cpu()}) {
    const DeviceStream own(device);
    EXPECT_FALSE(own.is_own());
    EXPECT_EQ(floats(tensor(counted(1), device) * 2), times(counted(1), 2));
  }
}

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
