// Parameters of one launch that lie in one piece of memory.
#include "kiln/backend/gpu/simulated/simulated.hpp"
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

/// Runs the kernel, lowered for a device that binds pieces of memory once, on elements of one piece: `from` says where in
/// it the parameters begin.
template <class T>
std::vector<T> run_shared(const Kernel& kernel, std::vector<T> memory, const std::vector<std::size_t>& from) {
  const Kernel made = lowered(kernel, poor_device());
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(memory.data());
  std::vector<std::uint64_t> arguments;
  for (const std::size_t each : from) arguments.push_back(begin + each * sizeof(T));
  const std::vector<std::uint16_t> sharers = sharers_of(made, arguments, [&](std::uint64_t) { return begin; });
  EXPECT_TRUE(are_shared(sharers));
  const Kernel shared = with_shared_bindings(made, sharers);
  std::size_t buffers = 0;
  for (const Parameter& each : shared.parameters) buffers += each.uniform == 0;
  EXPECT_EQ(buffers, 1u);
  interpret_lowered(shared, 1, arguments,
                    [&](std::uint64_t) { return Extent{begin, begin + memory.size() * sizeof(T)}; });
  return memory;
}

TEST(SharedBindings, KeepOffsetsOfTheirOwn) {
  Builder k("sums", 32);
  const Buffer x = k.input(DType::F32), y = k.input(DType::F32), out = k.output(DType::F32);
  out.store(k.thread(), x[k.thread()] * 2 + y[k.thread()]);
  const Kernel kernel = k.finish();
  std::vector<float> memory(100);
  for (std::size_t i = 0; i < 100; ++i) memory[i] = static_cast<float>(i);
  for (const auto& from : std::vector<std::vector<std::size_t>>{{0, 32, 64}, {64, 32, 0}, {40, 40, 40}, {7, 7, 50}}) {
    std::vector<float> expected = memory;
    for (std::size_t i = 0; i < 32; ++i) expected[from[2] + i] = memory[from[0] + i] * 2 + memory[from[1] + i];
    EXPECT_EQ(run_shared(kernel, memory, from), expected);
  }
}

TEST(SharedBindings, HoldElementsOfSeveralTypes) {
  Builder k("types", 32);
  const Buffer x = k.input(DType::F32), y = k.input(DType::U8), counts = k.both(DType::I32), out = k.output(DType::U32);
  out.store(k.thread(), x[k.thread()].bits_as(DType::U32) ^ y[k.thread()].as(DType::U32));
  counts.update(Update::Add, k.literal(DType::I32, 1), k.literal(DType::I32, 1));
  std::vector<std::uint32_t> memory(128, 0x01020304);
  for (std::size_t i = 0; i < 32; ++i) memory[i] = static_cast<std::uint32_t>(i * 0x01010101);
  std::vector<std::uint32_t> expected = memory;
  expected[41] += 32;
  for (std::size_t i = 0; i < 32; ++i)
    expected[64 + i] = memory[i] ^ static_cast<std::uint32_t>(4 - i % 4);  // bytes 4, 3, 2, 1
  EXPECT_EQ(run_shared(k.finish(), memory, {0, 100, 40, 64}), expected);
}

TEST(SharedBindings, SayWhichUpdatesTheyCannot) {
  Builder k("most", 32);
  const Buffer x = k.input(DType::F32), counts = k.both(DType::I32);
  counts.update(Update::Maximum, k.thread(), x[k.thread()].as(DType::I32));
  const Kernel made = lowered(k.finish(), poor_device());
  const std::uint16_t sharers[] = {0, 0, 2};
  EXPECT_EQ(sentence_of([&] { return with_shared_bindings(made, sharers), 0; }),
            "DeviceError: kernel most: elements of int32 are updated in memory that other parameters use too");
}

TEST(SharedBindings, AreMadeByTheDeviceThatNeedsThem) {
  const Profile& webgpu = *std::ranges::find(profiles(), "simulated:webgpu", &Profile::name);
  const Ref<Driver> driver = make_simulated(webgpu);
  std::byte* const memory = driver->memory().map(8192);
  driver->acquired(memory, 512);
  driver->acquired(memory + 512, 512);
  driver->clear(memory, 512);
  Builder k("next", 32);
  const Buffer x = k.input(DType::I32), y = k.input(DType::I32), out = k.output(DType::I32);
  out.store(k.thread(), x[k.thread()] + y[k.thread()] + k.thread());
  const Ref<Code> code = driver->compile(lowered(k.finish(), webgpu.has));
  const auto at = [&](std::size_t bytes) { return reinterpret_cast<std::uint64_t>(memory + bytes); };
  for (const std::size_t to : {128u, 0u, 512u}) driver->launch(*code, 1, std::vector{at(0), at(0), at(to)});
  std::vector<std::int32_t> found(32);
  driver->download(memory + 512, 128)->wait(reinterpret_cast<std::byte*>(found.data()));
  for (std::int32_t i = 0; i < 32; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], 3 * i);
  driver->released(memory, 512);
  driver->released(memory + 512, 512);
  driver->memory().unmap(memory, 8192);
}

}  // namespace
}  // namespace kiln::gpu
