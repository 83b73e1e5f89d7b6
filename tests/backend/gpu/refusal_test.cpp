// What a device's limits forbid in a kernel, and what the simulated devices refuse.
#include "kiln/backend/gpu/kernel/refusal.hpp"

#include <gmock/gmock.h>

#include "kiln/backend/gpu/custom.hpp"
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

const Profile& profile(std::string_view name) {
  for (const Profile& each : profiles())
    if (each.name == text("simulated:", name)) return each;
  fail<ArgumentError>("no profile ", name);
}

/// What the device says of the kernel that `write` builds; empty where it takes it.
template <class F>
std::string refused(std::string_view device, F write, int threads = 64) {
  Builder k("made", threads);
  write(k);
  const Profile& on = profile(device);
  const std::optional<Refusal> refusal = refusal_of(k.finish(), on.has, on.name);
  return refusal ? refusal->sentence : "";
}

/// Stores a value that is loaded from a buffer of this type.
auto copies(DType dtype, int width = 1) {
  return [dtype, width](Builder& k) {
    const Buffer from = k.input(dtype), to = k.output(dtype);
    to.store(k.thread() * width, from.load(k.thread() * width, width));
  };
}

TEST(Refusal, IsNoneForWhatADeviceHas) {
  for (const Profile& each : profiles()) {
    Builder k("plain", 128);
    const Buffer from = k.input(DType::F32), to = k.output(DType::F32);
    const Shared shared = k.shared(DType::F32, 128);
    shared.store(k.thread(), from[k.thread()]);
    k.barrier();
    to.store(k.thread(), shared[k.thread() ^ 1]);
    EXPECT_FALSE(refusal_of(k.finish(), each.has, each.name)) << each.name;
  }
}

TEST(Refusal, NamesTypes) {
  EXPECT_EQ(refused("metal", copies(DType::F64)),
            "simulated:metal: kernel made: value 2 is float64, the device computes in float32, int64, int32, uint64, "
            "uint32 and bool");
  EXPECT_EQ(refused("vulkan8", copies(DType::F64)).substr(0, 57),
            "simulated:vulkan8: kernel made: value 2 is float64, the d");
  EXPECT_EQ(refused("vulkan64", copies(DType::F64)), "");
  EXPECT_EQ(refused("webgpu", copies(DType::I64)),
            "simulated:webgpu: kernel made: value 2 is int64, the device computes in float32, int32, uint32 and bool");
  EXPECT_EQ(refused("webgpu", copies(DType::F16)),
            "simulated:webgpu: kernel made: value 2 is loaded from parameter 0, of float16, the device loads float32, "
            "int32 and uint32");
  EXPECT_EQ(refused("webgpu", [](Builder& k) { k.output(DType::Bool).store(k.thread(), k.literal(DType::I32, 1)); }),
            "simulated:webgpu: kernel made: a store to parameter 0 writes bool, the device stores float32, int32 and "
            "uint32");
  EXPECT_EQ(refused("webgpu", [](Builder& k) { k.number(DType::I64); }),
            "simulated:webgpu: kernel made: parameter 0 is a number of int64, the device takes float32, int32 and "
            "uint32");
  EXPECT_EQ(refused("webgpu", [](Builder& k) { k.shared(DType::F16, 2); }),
            "simulated:webgpu: kernel made: shared memory holds float16, the device keeps there float32, int32 "
            "and uint32");
  EXPECT_EQ(refused("webgpu", [](Builder& k) { k.local(DType::I64); }),
            "simulated:webgpu: kernel made: a variable is int64, the device computes in float32, int32, uint32 and "
            "bool");
  EXPECT_EQ(
      refused("vulkan8",
              [](Builder& k) { k.both(DType::I64).update(Update::Maximum, k.thread(), k.literal(DType::I64, 1)); }),
      "simulated:vulkan8: kernel made: value 2 updates parameter 0, of int64, the device updates int32 and "
      "uint32");
  EXPECT_EQ(
      refused("metal",
              [](Builder& k) { k.shared(DType::F32, 64).update(Update::Add, k.thread(), k.literal(DType::F32, 1)); }),
      "simulated:metal: kernel made: value 2 updates shared float32, the device updates there int32 and uint32");
}

TEST(Refusal, NamesLimits) {
  const auto nothing = [](Builder&) {};
  EXPECT_EQ(refused("webgpu", nothing, 512),
            "simulated:webgpu: kernel made: needs 512 threads to a block, the device has 256");
  EXPECT_EQ(refused("metal", nothing, 1024), "");
  const auto shared = [](Builder& k) { k.shared(DType::F32, 5000); };
  EXPECT_EQ(refused("vulkan64", shared),
            "simulated:vulkan64: kernel made: needs 20000 bytes of shared memory, the device has 16384");
  EXPECT_EQ(refused("metal", shared), "");
  const auto inputs = [](Builder& k) {
    for (int i = 0; i < 32; ++i) k.input(DType::F32);
  };
  EXPECT_EQ(refused("metal", inputs), "simulated:metal: kernel made: needs 32 buffers, the device has 30");
  EXPECT_EQ(refused("cuda", inputs), "");
  EXPECT_EQ(refused("metal",
                    [](Builder& k) {
                      for (int i = 0; i < 513; ++i) k.number(DType::I64);
                    }),
            "simulated:metal: kernel made: needs 4104 bytes of numbers, the device has 4096");
  EXPECT_EQ(refused("webgpu", [](Builder& k) { k.inputs(DType::F32, 4); }),
            "simulated:webgpu: kernel made: parameter 0 is a table of 4 buffers, and the device binds each by itself");
  EXPECT_EQ(refused("vulkan8", copies(DType::F32, 4)), "");
}

TEST(Refusal, NamesWhatThreadsDoTogether) {
  const auto shuffles = [](Builder& k) { k.output(DType::I32).store(k.thread(), k.shuffle_xor(k.thread(), 1)); };
  EXPECT_EQ(refused("vulkan8", shuffles),
            "simulated:vulkan8: kernel made: value 5 is passed among 32 lanes, the device has 8");
  EXPECT_EQ(refused("vulkan0", shuffles),
            "simulated:vulkan0: kernel made: value 5 is passed among 32 lanes, the device has none");
  EXPECT_EQ(refused("vulkan64", shuffles), "");
  EXPECT_EQ(refused("metal", [](Builder& k) { k.meet(k.both(DType::I32), k.literal(DType::I32, 0), k.blocks()); }),
            "simulated:metal: kernel made: its blocks wait for each other, which the device does not promise");
  EXPECT_EQ(refused("vulkan64",
                    [](Builder& k) {
                      const std::vector<Expr> words(4, k.literal(DType::U32, 0)), sums(4, k.literal(DType::F32, 0));
                      const auto made = k.multiply_fragments(DType::F16, words, std::span(words).first(2), sums);
                      k.output(DType::F32).store(k.thread(), made[0]);
                    }),
            "simulated:vulkan64: kernel made: value 2 is a product of fragments of float16, which the device has not");
}

TEST(Refusal, NamesFunctionsThatTheLanguageLacks) {
  const auto calls = [](DType dtype) {
    return [dtype](Builder& k) {
      const Buffer x = k.both(dtype);
      x.store(k.thread(), k.call("exp", dtype, {k.call("sqrt", dtype, {x[k.thread()]})}));
    };
  };
  EXPECT_EQ(refused("vulkan64", calls(DType::F32)), "");
  EXPECT_EQ(refused("vulkan64", calls(DType::F64)),
            "simulated:vulkan64: kernel made: value 3 is exp of float64, for which GLSL has no functions");
  EXPECT_EQ(refused("cuda", calls(DType::F64)), "");
}

TEST(Refusal, NamesFences) {
  const auto fences = [](Builder& k) {
    const Buffer x = k.both(DType::I32);
    x.store(k.thread(), k.thread());
    k.fence();
    x.store(k.thread() + 64, k.thread());
  };
  EXPECT_EQ(refused("vulkan8", fences), "");
  for (const std::string device : {"metal", "webgpu"})
    EXPECT_EQ(refused(device, fences),
              text("simulated:", device, ": kernel made: it has a fence, and the device has none among blocks"));
}

/// Counts its operand down from 7, by a kernel with a fence.
struct Countdown final : CustomOp {
  struct Source {
    bool fenced;
    Kernel kernel() const {
      Builder k("countdown", 32);
      const Buffer x = k.both(DType::F32), y = k.both(DType::F32);
      k.when(k.thread() < 3, [&] { y.store(k.thread(), k.literal(DType::F32, 7) - x[k.thread()]); });
      if (fenced) k.fence();
      return k.finish();
    }
  };
  std::string name() const override { return "countdown"; }
  Descs infer(Inputs in) const override { return {Desc{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs in) const override { return {7 - in[0]}; }
  bool run(std::string_view backend, Call call) const override {
    Gpu* const gpu = as_gpu(backend);
    if (!gpu) return false;
    const Array x = read(call.in[0]);
    const Array y = gpu->allocate(call.out[0]);
    gpu->launch(Source{false}, 1, {x, y});
    gpu->launch(Source{true}, 1, {x, y});
    return true;
  }
};

TEST(Refusal, OfACustomKernelIsItsExpansion) {
  const std::vector<double> numbers{1, 4, 9};
  for (const Profile& each : profiles()) {
    const Device device(make_ref<Gpu>(make_simulated(each)));
    const Value x = from_data(TensorData::of<double>({3}, numbers).to(DType::F32), device);
    EXPECT_EQ(emit(op::Custom{make_ref<Countdown>()}, {x}).data().to_vector<double>(), (std::vector<double>{6, 3, -2}))
        << each.name;
  }
}

TEST(Refusal, OfACheckNamesHowManyPlaces) {
  const auto said = [](std::string_view device, std::int64_t places) {
    const auto gpu = make_ref<Gpu>(make_simulated(profile(device)));
    return sentence_of([&] { return gpu->check_cell(places).numel(); });
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  EXPECT_EQ(said("cuda", kMost + 1), "");
  EXPECT_EQ(said("metal", kMost), "");
  EXPECT_EQ(
      said("metal", kMost + 1),
      "DeviceError: simulated:metal: 2147483649 places must be checked, and the device's 32-bit cells name at most "
      "2147483648");
}

TEST(Profiles, AreDevicesByName) {
  std::vector<std::string> names;
  for (const Device& device : devices(DeviceKind::Virtual)) names.push_back(device.name());
  EXPECT_EQ(names, (std::vector<std::string>{"simulated", "simulated:cuda", "simulated:rocm", "simulated:vulkan8",
                                             "simulated:vulkan64", "simulated:vulkan0", "simulated:vulkan32",
                                             "simulated:vulkan4", "simulated:metal", "simulated:webgpu"}));
  for (const std::string& each : names) EXPECT_EQ(Device::parse(each).name(), each);
}

TEST(Profiles, RefuseLaunches) {
  Profile narrow = profile("webgpu");
  narrow.has.binding_bytes = 64;
  narrow.has.most_blocks = {4, 2, 1};
  const Ref<Driver> driver = make_simulated(narrow);
  std::byte* const start = driver->memory().map(4096);
  const auto launched = [&](std::int64_t blocks, std::size_t bytes) {
    driver->acquired(start, bytes);
    const std::string said = sentence_of([&] {
      Builder k("made", 32);
      k.when(k.thread() < 16, [&] { k.output(DType::F32).store(k.thread(), k.literal(DType::F32, 1)); });
      driver->launch(*driver->compile(k.finish()), blocks, std::vector{reinterpret_cast<std::uint64_t>(start)});
      return 0;
    });
    driver->released(start, bytes);
    return said;
  };
  EXPECT_EQ(launched(7, 64), "");
  EXPECT_EQ(launched(8, 64), "DeviceError: simulated:webgpu: kernel made: a launch of 8 blocks, the grid has 4 by 2");
  EXPECT_EQ(launched(1, 68),
            "DeviceError: simulated:webgpu: kernel made: parameter 0 is a buffer of 68 bytes, the device binds 64");
  driver->memory().unmap(start, 4096);
}

TEST(Profiles, RunWhatTheyCannotComputeOnTheHost) {
  const Device metal = Device::parse("simulated:metal");
  const std::vector<double> numbers{1, 4, 9};
  const Value x = from_data(TensorData::of<double>({3}, numbers), metal);
  EXPECT_EQ(sqrt(x).data().to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(sqrt(x).device(), metal);
}

}  // namespace
}  // namespace kiln::gpu
