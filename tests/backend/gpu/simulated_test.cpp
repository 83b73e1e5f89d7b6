// The simulated device: its driver, and what it makes of a program.
#include "kiln/backend/gpu/simulated/simulated.hpp"

#include <cmath>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

struct Block {
  explicit Block(Driver& driver, std::size_t bytes) : driver(driver), start(driver.memory().map(8192)), bytes(bytes) {
    driver.acquired(start, bytes);
  }
  ~Block() {
    driver.released(start, bytes);
    driver.memory().unmap(start, 8192);
  }
  Driver& driver;
  std::byte* start;
  std::size_t bytes;
};

template <class T>
std::vector<T> read(Driver& driver, const std::byte* from, std::size_t count) {
  std::vector<T> all(count);
  driver.download(from, count * sizeof(T))->wait(reinterpret_cast<std::byte*>(all.data()));
  return all;
}

Kernel writes_behind(std::int32_t reach) {
  Builder k("writes", 32);
  const Buffer to = k.output(DType::I32);
  to.store(k.thread() + reach, k.thread());
  return k.finish();
}

TEST(Simulated, ShowsWhatNobodyWrote) {
  const Ref<Driver> driver = make_simulated();
  const Block block(*driver, 256);
  EXPECT_EQ(read<std::int32_t>(*driver, block.start, 64), std::vector<std::int32_t>(64, -1));
  driver->launch(*driver->compile(writes_behind(32)), 1, std::vector{reinterpret_cast<std::uint64_t>(block.start)});
  const auto found = read<std::int32_t>(*driver, block.start, 64);
  for (std::int32_t i = 0; i < 64; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], i < 32 ? -1 : i - 32);
  driver->clear(block.start + 128, 8);
  driver->copy(block.start, block.start + 128, 128);
  EXPECT_EQ(read<std::int32_t>(*driver, block.start, 4), (std::vector<std::int32_t>{0, 0, 2, 3}));
}

TEST(Simulated, WatchesOverItsMemory) {
  const Ref<Driver> driver = make_simulated();
  const Block block(*driver, 256);
  const auto launched = [&](std::int32_t reach, std::ptrdiff_t from) {
    return sentence_of([&] {
      driver->launch(*driver->compile(writes_behind(reach)), 1,
                     std::vector{reinterpret_cast<std::uint64_t>(block.start + from)});
      return 0;
    });
  };
  EXPECT_EQ(launched(0, 0), "");
  EXPECT_EQ(launched(-32, 128), "") << "what lies before an address may be the tensor's, too";
  EXPECT_EQ(launched(33, 0),
            "DeviceError: kernel writes, block 0: thread 31 touches element 64 of parameter 0, a buffer of int32 where "
            "elements 0 to before 64 are");
  EXPECT_EQ(launched(0, 512),
            "DeviceError: kernel writes, block 0: thread 0 touches element 0 of parameter 0, a buffer of int32 where "
            "elements 0 to before 0 are");
  std::vector<std::byte> bytes(300);
  EXPECT_EQ(sentence_of([&] { return driver->upload(block.start, bytes), 0; }),
            "DeviceError: simulated: upload of 300 bytes where 256 are somebody's");
}

TEST(Simulated, RefusesMoreSharedMemoryThanThereIs) {
  Builder k("large", 32);
  const Buffer x = k.both(DType::I32);
  const Shared all = k.shared(DType::F32, 20000);
  all.store(k.thread(), k.literal(DType::F32, 1));
  x.store(k.thread(), all[k.thread()].as(DType::I32));
  const Kernel kernel = k.finish();
  EXPECT_EQ(sentence_of([&] { return make_simulated()->compile(kernel); }),
            "DeviceError: simulated: kernel large: needs 80000 bytes of shared memory, the device has 49152");
}

TEST(Simulated, IsADeviceThatNobodyGetsUnasked) {
  const Device device = Device::parse("simulated");
  EXPECT_EQ(device.name(), "simulated");
  EXPECT_NE(Device::best(), device);
  const Value x = full({5}, 2.0, device);
  EXPECT_EQ(exp(x * 0.5).data().at(4), static_cast<double>(std::exp(1.0f)));
}

}  // namespace
}  // namespace kiln::gpu
