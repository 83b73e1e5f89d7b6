// Ranks with a GPU each, which NCCL joins. The fake libraries have two GPUs, whose kernels do nothing; a machine has
// what it has, and one GPU is a group of one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kiln/backend/cuda/ranks/nccl.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

std::string missing_nccl() {
  try {
    (void)nccl::api();
    return "";
  } catch (const Error& error) { return error.what(); }
}

/// A function that only the fake one has; null where it is a real one.
template <class F>
F* of_fake(const char* name, const char* file = "libnccl.so.2") {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<F*>(::dlsym(library, name)) : nullptr;
}
/// What the fake one has done.
std::optional<int> fake_calls() {
  const auto calls = of_fake<int()>("kiln_fake_nccl_calls");
  return calls ? std::optional(calls()) : std::nullopt;
}

std::vector<Device> gpus() {
  std::vector<Device> all;
  for (int i = 0; i < std::min(device_count(), 4); ++i) all.push_back(Device::cuda(i));
  return all;
}

template <class T>
Value tensor(const std::vector<T>& numbers, const Device& device) {
  return from_data(TensorData::of<T>({static_cast<std::int64_t>(numbers.size())}, numbers), device);
}

struct With {
  With(const char* setting, const char* value) : setting(setting) { ::setenv(setting, value, 1); }
  ~With() { ::unsetenv(setting); }
  const char* setting;
};

/// How many microseconds each thing takes of the fake driver's streams, as long as it lives: those of devices, and
/// those beside them in which ranks meet. What depends on luck goes wrong by one of two such.
struct Pace {
  Pace(int stream, int beside) { set(stream, beside); }
  ~Pace() { set(50, 50); }
  static void set(int stream, int beside) {
    if (const auto pace = of_fake<void(int, int)>("kiln_fake_pace", "libcuda.so.1")) pace(stream, beside);
  }
};
constexpr int kQuick = 10, kSlow = 5000;

#define KILN_NEEDS_NCCL() \
  KILN_NEEDS_DEVICE();    \
  KILN_NEEDS_COMPILER();  \
  if (const std::string why = missing_nccl(); !why.empty()) GTEST_SKIP() << "no NCCL: " << why

TEST(CudaRanks, MeetByNccl) {
  KILN_NEEDS_NCCL();
  const With even_alone("KILN_NCCL", "1");
  const auto before = fake_calls();
  const std::vector<Device> devices = gpus();
  const int count = static_cast<int>(devices.size());
  on_each(devices, [&](const Ranks& ranks, const Device& device) {
    const int rank = ranks->rank();
    std::vector<float> floats, sums;
    std::vector<std::int64_t> integers, wrapped;
    for (int i = 0; i < 1000; ++i) {
      floats.push_back(static_cast<float>(rank + 1) * 0.25f + static_cast<float>(i));
      integers.push_back((std::int64_t{1} << 62) + i * rank);
      float sum = 0;
      std::uint64_t all = 0;
      for (int other = 0; other < count; ++other) {
        sum += static_cast<float>(other + 1) * 0.25f + static_cast<float>(i);
        all += (std::uint64_t{1} << 62) + static_cast<std::uint64_t>(i * other);
      }
      sums.push_back(sum);
      wrapped.push_back(static_cast<std::int64_t>(all));
    }
    EXPECT_EQ(all_reduce(tensor(floats, device), ranks).data().to_vector<float>(), sums);
    EXPECT_EQ(all_reduce(tensor(integers, device), ranks).data().to_vector<std::int64_t>(), wrapped);
    const auto means = all_reduce(tensor(floats, device), ranks, Combine::Mean).data().to_vector<float>();
    for (std::size_t i = 0; i < means.size(); ++i) EXPECT_NEAR(means[i], sums[i] / static_cast<float>(count), 1e-3f);

    const auto own = std::vector<std::int16_t>{static_cast<std::int16_t>(rank), 7};
    std::vector<std::int16_t> all;
    for (int other = 0; other < count; ++other) all.insert(all.end(), {static_cast<std::int16_t>(other), 7});
    EXPECT_EQ(all_gather(tensor(own, device), ranks).data().to_vector<std::int16_t>(), all);
    EXPECT_EQ(broadcast(tensor(own, device), ranks, count - 1).data().to_vector<std::int16_t>(),
              (std::vector<std::int16_t>{static_cast<std::int16_t>(count - 1), 7}));
    std::vector<float> parts;
    for (int i = 0; i < 2 * count; ++i) parts.push_back(static_cast<float>(i));
    EXPECT_EQ(reduce_scatter(tensor(parts, device), ranks).data().to_vector<float>(),
              (std::vector<float>{static_cast<float>(2 * rank * count), static_cast<float>((2 * rank + 1) * count)}));
    EXPECT_EQ(all_reduce(tensor(std::vector<float>{}, device), ranks).numel(), 0);
  });
  if (before) { EXPECT_EQ(*fake_calls(), *before + 6); }
}

// Many calls one after the other, each of the last one's result: they come in order on all devices.
TEST(CudaRanks, KeepTheOrderOfTheProgram) {
  KILN_NEEDS_NCCL();
  const With even_alone("KILN_NCCL", "1");
  const std::vector<Device> devices = gpus();
  for (const auto& [stream, beside] : {std::pair(50, 50), std::pair(kSlow, kQuick), std::pair(kQuick, kSlow)}) {
    const Pace pace(stream, beside);
    on_each(devices, [&](const Ranks& ranks, const Device& device) {
      Value x = tensor(std::vector<double>{1, 0.5}, device);
      for (int i = 0; i < 20; ++i) x = all_reduce(x, ranks, i % 2 ? Combine::Mean : Combine::Sum);
      double expected = 1;
      for (int i = 0; i < 10; ++i) expected *= static_cast<double>(devices.size());
      EXPECT_EQ(x.data().to_vector<double>(), (std::vector<double>{expected, expected / 2}));
    });
  }
}

std::span<const std::byte> raw(const std::vector<float>& numbers) { return std::as_bytes(std::span(numbers)); }
std::vector<float> fetched(Driver& driver, const Block& from, std::size_t count) {
  std::vector<float> to(count);
  driver.download(from.start(), count * sizeof(float))->wait(std::as_writable_bytes(std::span(to)).data());
  return to;
}

/// Calls run(ranks, driver, the sum of 1 to the number of ranks) for each GPU.
template <class F>
void on_each_driver(F run) {
  const std::vector<Device> devices = gpus();
  on_each(devices, [&](const Ranks& ranks, const Device&) {
    const auto driver = make_ref<Driver>(ranks->rank());
    ASSERT_TRUE(driver->can_start_collectives(*ranks));
    run(ranks, *driver, static_cast<float>(ranks->size() * (ranks->size() + 1)) / 2);
  });
}

constexpr std::size_t kCount = 1000;
gpu::Collective sum_of(const Block& x, const Block& result) {
  return {.kind = gpu::Collective::Kind::Sum,
          .dtype = DType::F32,
          .x = x.start(),
          .result = result.start(),
          .count = kCount};
}

TEST(CudaRanks, MeetOnceTheStreamHasDoneWhatItWasAskedFor) {
  KILN_NEEDS_NCCL();
  const With even_alone("KILN_NCCL", "1");
  const Pace pace(kSlow, kQuick);
  on_each_driver([](const Ranks& ranks, Driver& driver, float sum) {
    const std::size_t bytes = kCount * sizeof(float);
    const Block given(driver, bytes), x(driver, bytes), result(driver, bytes);
    driver.upload(given.start(), raw(std::vector<float>(kCount, static_cast<float>(ranks->rank() + 1))));
    driver.upload(x.start(), raw(std::vector<float>(kCount, -1)));
    driver.upload(result.start(), raw(std::vector<float>(kCount, -1)));
    driver.copy(x.start(), given.start(), bytes);
    driver.wait_for_collective(driver.start_collective(*ranks, sum_of(x, result)));
    EXPECT_EQ(fetched(driver, result, kCount), std::vector<float>(kCount, sum));
  });
}

TEST(CudaRanks, MeetBesideTheStreamWhichGoesOn) {
  KILN_NEEDS_NCCL();
  const With even_alone("KILN_NCCL", "1");
  const Pace pace(kQuick, 20 * kSlow);
  on_each_driver([](const Ranks& ranks, Driver& driver, float sum) {
    const std::size_t bytes = kCount * sizeof(float);
    const Block x(driver, bytes), first(driver, bytes), second(driver, bytes);
    driver.upload(x.start(), raw(std::vector<float>(kCount, static_cast<float>(ranks->rank() + 1))));
    driver.upload(second.start(), raw(std::vector<float>(kCount, -1)));
    const std::uint64_t number = driver.start_collective(*ranks, sum_of(x, first)),
                        next = driver.start_collective(*ranks, sum_of(first, second));
    EXPECT_LT(number, next);
    const std::vector<float> meanwhile = fetched(driver, second, kCount);
    if (fake_state()) { EXPECT_EQ(meanwhile, std::vector<float>(kCount, -1)); }
    driver.wait_for_collective(number);
    EXPECT_EQ(fetched(driver, first, kCount), std::vector<float>(kCount, sum));
    driver.wait_for_collective(next);
    driver.wait_for_collective(number);  // long past
    EXPECT_EQ(fetched(driver, second, kCount), std::vector<float>(kCount, sum * static_cast<float>(ranks->size())));
  });
}

// Meetings cut what is gathered in the same places each time, so that what lies between them comes again as graphs.
TEST(CudaRanks, LeaveGraphsBetweenThem) {
  KILN_NEEDS_NCCL();
  if (!fake_state()) GTEST_SKIP() << "a real driver does not count them";
  const int before = fake_state()->graphs;
  constexpr int kSteps = 10;
  on_each_driver([](const Ranks& ranks, Driver& driver, float) {
    const std::size_t bytes = kCount * sizeof(float);
    const Block x(driver, bytes), y(driver, bytes), met(driver, bytes), result(driver, bytes);
    driver.upload(met.start(), raw(std::vector<float>(kCount, 1)));
    for (int step = 0; step < kSteps; ++step) {
      const auto work = [&] {
        for (int i = 0; i < 6; ++i) driver.copy(i % 2 ? x.start() : y.start(), i % 2 ? y.start() : x.start(), bytes);
      };
      work();
      const std::uint64_t number = driver.start_collective(*ranks, sum_of(met, result));
      work();  // meanwhile
      driver.wait_for_collective(number);
      work();
      driver.synchronize();
    }
  });
  EXPECT_GE(fake_state()->graphs - before, (kSteps - 2) * 3 * 2);
}

// What a rank lets go of may be read, and written, until all have met.
TEST(CudaRanks, HoldTheMemoryThatTheyMeetFor) {
  KILN_NEEDS_NCCL();
  const With even_alone("KILN_NCCL", "1");
  const Pace pace(kQuick, kSlow);
  on_each(gpus(), [](const Ranks& ranks, const Device& device) {
    constexpr std::size_t count = 1 << 20;
    const auto filled = [&](float number) { return tensor(std::vector<float>(count, number), device); };
    const float sum = static_cast<float>(ranks->size() * (ranks->size() + 1)) / 2;
    Value x = filled(static_cast<float>(ranks->rank() + 1));
    Value result = all_reduce(x, ranks);
    x = {};
    const Value other = filled(-1);  // where x was, if it could
    EXPECT_EQ(result.data().to_vector<float>(), std::vector<float>(count, sum));
    for (int i = 0; i < 20; ++i) {  // more than are under way at once
      x = filled(static_cast<float>(ranks->rank() + 1));
      result = all_reduce(x, ranks);
      x = {};
    }
    result = all_reduce(filled(1), ranks);
    result = {};
    const Value more[] = {filled(-2), filled(-2)};  // where the result was to be
    device.sync();
    for (const Value& each : more) EXPECT_EQ(each.data().to_vector<float>(), std::vector<float>(count, -2));
  });
}

TEST(CudaRanks, ThatShareAGpuMeetOnTheHost) {
  KILN_NEEDS_NCCL();
  const auto before = fake_calls();
  on_each({another(Device::cuda()), another(Device::cuda())}, [](const Ranks& ranks, const Device& device) {
    const Value x = tensor(std::vector<float>{1, static_cast<float>(ranks->rank())}, device);
    EXPECT_EQ(all_reduce(x, ranks).data().to_vector<float>(), (std::vector<float>{2, 1}));
  });
  EXPECT_EQ(fake_calls(), before);
}

TEST(CudaRanks, MeetOnTheHostWhereTheEnvironmentSaysSo) {
  KILN_NEEDS_NCCL();
  const With without("KILN_NCCL", "0");
  const auto before = fake_calls();
  on_each(gpus(), [](const Ranks& ranks, const Device& device) {
    const Value x = tensor(std::vector<float>{1}, device);
    EXPECT_EQ(all_reduce(x, ranks).data().to_vector<float>(), std::vector<float>{static_cast<float>(ranks->size())});
  });
  EXPECT_EQ(fake_calls(), before);
}

TEST(CudaRanks, AreToldOfDifferentCallsAndOfThoseWhoLeft) {
  KILN_NEEDS_NCCL();
  if (device_count() < 2) GTEST_SKIP() << "one GPU";
  const std::vector<Device> two{Device::cuda(0), Device::cuda(1)};
  const auto said = [&](auto run) {
    return sentence_of([&] {
      on_each(two, run);
      return 0;
    });
  };
  const std::string different = said([](const Ranks& ranks, const Device& device) {
    const Value x = tensor(std::vector<float>(ranks->rank() ? 2 : 3), device);
    (void)all_reduce(x, ranks).data();
  });
  EXPECT_NE(different.find("all_reduce (sum) of float32 [3]"), different.npos) << different;
  EXPECT_NE(different.find("all_reduce (sum) of float32 [2]"), different.npos) << different;
  const std::string left = said([](const Ranks& ranks, const Device& device) {
    const Value x = tensor(std::vector<float>{1}, device);
    (void)all_reduce(x, ranks).data();
    if (ranks->rank() == 0) (void)all_reduce(x, ranks).data();
  });
  EXPECT_NE(left.find("its work is done"), left.npos) << left;
}

// A rank that goes between the word that it comes and the call itself leaves devices behind that wait for it.
TEST(CudaRanks, AreToldOfOneThatGoesWhileTheirDeviceWaits) {
  KILN_NEEDS_NCCL();
  if (device_count() < 2) GTEST_SKIP() << "one GPU";
  const auto fake = of_fake<void(int)>("kiln_fake_nccl_waits_in_vain");
  const auto wait_in_vain = [&](bool vain) {
    if (fake) fake(vain);
  };
  std::string said, again;
  const auto run = [&](const Ranks& ranks, const Device& device) {
    const Value x = tensor(std::vector<float>{1}, device);
    (void)all_reduce(x, ranks).data();
    if (ranks->rank() == 1) {
      for (int i = 0; i < 3; ++i)
        ranks->exchange("GPUs: all_reduce (sum) of float32 [1]", Communicator::Pieces(2), Communicator::Places(2));
      fail<IoError>("no more disk");
    }
    wait_in_vain(true);
    const Value first = all_reduce(x, ranks), second = all_reduce(x, ranks);  // of which nobody reads
    const auto sum = [&] { return all_reduce(x, ranks).data(); };
    said = sentence_of(sum);
    again = sentence_of(sum);
    wait_in_vain(false);
  };
  EXPECT_THROW(on_each({another(Device::cuda(0)), another(Device::cuda(1))}, run), IoError);
  EXPECT_NE(said.find("DeviceError: cuda: it waited for ranks of which one is missing: rank 1 has left: "), said.npos)
      << said;
  EXPECT_NE(said.find("no more disk"), said.npos) << said;
  EXPECT_NE(again.find("its ranks do not meet any more"), again.npos) << again;
}

TEST(CudaRanks, ByThemselvesNeedNoNccl) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const auto before = fake_calls();
  const Value x = tensor(std::vector<float>{1, 2}, Device::cuda());
  EXPECT_EQ(all_reduce(x, alone()).data().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(all_gather(x, alone()).data().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(fake_calls(), before);
}

}  // namespace
}  // namespace kiln::cuda::test
