// Threads with streams of their own on a device whose streams do nothing before somebody waits for them (deferred.hpp).
// A missing wait gives wrong numbers each time, and not by luck.
#include <gtest/gtest.h>

#include <thread>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/order/stream_use.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "kiln/ops/scope/device_stream.hpp"
#include "tests/backend/gpu/streams/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::gpu::test {
namespace {

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
    for (const char* const part : {"; all streams hold 16 MiB; the first stream: 8 MiB in use",
                                   "; stream 1: 8 MiB in use", "the largest: 1 result float32 [2097152] (8 MiB)"})
      EXPECT_NE(said.find(part), std::string::npos) << part << " in: " << said;
  }
  EXPECT_EQ(on.device.memory().in_use, 0);
  EXPECT_EQ(on.device.memory().reserved, 16 * kMega);
  const Value x = large(), y = large();  // what the other stream holds unused is given back for it
  EXPECT_EQ(on.device.memory().in_use, 16 * kMega);
}

// Others than this program have its memory: what was not given leaves nothing that another attempt could take.
TEST(GpuStreams, AreToldThatADeviceIsFullBelowItsLimit) {
  const Machine on;
  const std::size_t before = on.driver->budget().held();
  on.driver->is_full = true;
  const auto large = [&] { return on.gpu->scratch({Shape{2 << 20}, DType::F32}); };
  const std::string said = sentence_of([&] { return large(); });
  EXPECT_NE(said.find("needs 8388608 bytes (8 MiB), for which there is no room"), std::string::npos) << said;
  EXPECT_EQ(on.driver->budget().held(), before);
  on.driver->is_full = false;
  EXPECT_NE(address(large()), nullptr);
}

// Each has 8 MiB at most in use, of 16, so that there is always room: unused memory of other sizes is given back for it,
// by whoever is first.
TEST(GpuStreams, FindRoomWhileOthersTakeAndGiveBack) {
  const Machine on;
  on.device.set_memory_limit(std::int64_t{16} << 20);
  const auto work = [&](std::int64_t seed) {
    const DeviceStream own(on.device);
    for (std::int64_t i = 0; i < 300; ++i) {
      seed = (seed * 48271) % 2147483647;
      const std::int64_t megabytes = 3 + seed % 6;
      const Value taken = on.gpu->scratch({Shape{megabytes << 18}, DType::F32});
      if (seed % 3 == 0) std::this_thread::yield();
    }
  };
  std::string said[2];
  std::thread first([&] { said[0] = sentence_of([&] { return work(1), 0; }); });
  std::thread second([&] { said[1] = sentence_of([&] { return work(2), 0; }); });
  first.join();
  second.join();
  EXPECT_EQ(said[0] + said[1], "");
}

// ---- beginning and end ---------------------------------------------------------------------------------------------

// Work that knows nothing of values is ordered where a scope begins and ends.
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

TEST(GpuStreams, ReleaseAllThatCanWait) {
  const Machine on;
  const DeviceStream first(on.device), second(on.device);
  int before = 0;
  {
    const StreamAlone alone(on.gpu->pool()->order());
    before = on.driver->waits;
    on.driver->cannot_wait = 0;
  }
  EXPECT_EQ(on.driver->waits, before + 1) << "stream 1 waits, though the first cannot";
  on.driver->cannot_wait = -1;
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

}  // namespace
}  // namespace kiln::gpu::test
