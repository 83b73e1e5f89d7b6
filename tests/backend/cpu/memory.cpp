// device.memory(): what is counted, what a limit does, and what whoever meets it is told; at once and through Fusion.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <new>

#include "kiln/backend/cpu/memory/memory_limit.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
/// The processor itself is not to fuse.
const bool kPlain = setenv("KILN_FUSION", "0", 1) == 0;

Value upload(const Shape& shape, const Device& device) { return from_data(TensorData(shape, DType::F32), device); }

TEST(Memory, IsCountedByWhatItIsFor) {
  const Device device = Device::cpu();
  device.sync();
  const MemoryStatistics before = device.memory();
  const Value x = upload({512, 1024}, device);
  const Value y = exp(x);
  (void)y.data();
  const MemoryStatistics after = device.memory();
  EXPECT_EQ(after.uploads - before.uploads, 2 * kMiB);
  EXPECT_EQ(after.results - before.results, 2 * kMiB);
  EXPECT_GE(after.requests, before.requests + 2);
  EXPECT_EQ(after.in_use, after.uploads + after.results + after.scratch + after.packed);
  EXPECT_GE(after.limit, after.reserved);
}

TEST(Memory, LentDataAreReadWhereTheyLie) {
  for (const Device& device : {Device::cpu(), Device(make_ref<fusion::Fusion>(Device::cpu().handle()))}) {
    const auto lender = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
    const auto lent = TensorData::lent({2, 2}, DType::F32, std::as_bytes(std::span(*lender)), lender);
    const std::int64_t uploads = device.memory().uploads;
    Value x = from_data(lent, device);
    EXPECT_EQ(device.memory().uploads, uploads);
    EXPECT_EQ(lender.use_count(), 3);
    (*lender)[3] = 5;  // nobody has a copy
    EXPECT_EQ(x.data().to_vector<float>(), (std::vector<float>{1, 2, 3, 5}));
    // An operation that reads it last writes elsewhere.
    Value y = exp(x);
    x = {};
    EXPECT_EQ(y.data().numel(), 4);
    EXPECT_EQ((*lender)[0], 1);
    y = {};
    EXPECT_EQ(lender.use_count(), 2);
  }
}

TEST(Memory, DataThatAreReadStayWhereTheyAreUnlessTheyAreASmallPart) {
  const Device device = Device::cpu();
  Value x = upload({512, 1024}, device) + 1;
  const TensorData all = x.data(), half = narrow(x, 0, 256, 256).data(), part = narrow(x, 0, 0, 128).data();
  EXPECT_TRUE(all.owner());
  EXPECT_TRUE(half.owner());
  EXPECT_FALSE(part.owner());  // 512 KiB, which would keep 2 MiB
  x = {};
  EXPECT_EQ(all.at(0), 1);
  EXPECT_EQ(half.at(0), 1);
  EXPECT_EQ(part.at(0), 1);
}

TEST(Memory, PeakStartsAgainFromWhatIsInUse) {
  const Device device = Device::cpu();
  (void)upload({4, 1024, 1024}, device);
  EXPECT_GE(device.memory().peak, device.memory().in_use + 16 * kMiB);
  device.reset_memory_peak();
  EXPECT_EQ(device.memory().peak, device.memory().in_use);
}

TEST(Memory, KeptForLaterIsGivenBackOnDemand) {
  const Device device = Device::cpu();
  const Value held = upload({1024, 1024}, device) + 1;
  (void)upload({8, 1024, 1024}, device);
  device.release_memory();
  const MemoryStatistics memory = device.memory();
  EXPECT_LE(memory.reserved, memory.in_use + 17 * kMiB);  // and the regions of small blocks
  EXPECT_EQ(held.data().at(5), 1);
}

/// A limit while it lives, so much above what is held.
struct Limit {
  explicit Limit(std::int64_t room) : before(Device::cpu().memory().limit) {
    Device::cpu().release_memory();
    Device::cpu().set_memory_limit(Device::cpu().memory().reserved + room);
  }
  ~Limit() { Device::cpu().set_memory_limit(before); }
  std::int64_t before;
};

class MemoryLimit : public testing::TestWithParam<bool> {
 protected:
  const Device device =
      GetParam() ? Device(make_ref<fusion::Fusion>(Device::parse("cpu").handle()), true) : Device::cpu().autodiff();
};
INSTANTIATE_TEST_SUITE_P(Devices, MemoryLimit, testing::Bool(),
                         [](const auto& info) { return info.param ? "fused" : "plain"; });

TEST_P(MemoryLimit, EndsInASentenceAndLeavesTheRestInOrder) {
  const Value x = upload({1024, 1024}, device);
  const Value wide = expand(x, {16, 1024, 1024});
  (void)(x + 1).data();
  const Limit limit(24 * kMiB);
  std::string message;
  try {
    (void)slice(exp(wide) * 2, std::array{Range{0, 1}}).data();
    FAIL() << "64 MiB were found within 24";
  } catch (const MemoryError& error) { message = error.message(); }
  EXPECT_EQ(message.rfind(GetParam() ? "exp+mul: cpu: " : "exp: cpu: ", 0), 0u) << message;
  for (const char* part :
       {"a tensor float32 [16, 1024, 1024] needs 67108864 bytes (64 MiB)", " in use (uploads ",
        " held from the system, peak ", ", the limit is ", "; the largest: 1 upload float32 [1024, 1024] (4 MiB)"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  EXPECT_EQ((x + 3).data().at(7), 3);
  EXPECT_LE(device.memory().reserved, device.memory().limit);
}

TEST_P(MemoryLimit, SaysWhatLeavesTooLittleRoom) {
  const Value x = upload({1024, 1024}, device);
  const auto said = [&](const Shape& shape) -> std::string {
    try {
      (void)(expand(x, shape) + 1).data();
    } catch (const MemoryError& error) { return std::string(error.message()); }
    return "nothing";
  };
  const Limit limit(10 * kMiB);
  EXPECT_NE(said({3, 1024, 1024}).find("cannot be allocated: it is 2 MiB more than the limit leaves; "),
            std::string::npos)
      << said({3, 1024, 1024});
  EXPECT_EQ(said({2, 1024, 1024}), "nothing");
}

TEST(MemoryLimit, IsAskedForEveryTensorThatCanBeCounted) {
  const Device device = Device::cpu();
  for (const std::int64_t count : {std::int64_t{1} << 60, (std::int64_t{1} << 61) - 1}) {
    try {
      (void)full({count}, 1.0, device, DType::F32).data();
      FAIL() << count;
    } catch (const MemoryError& error) {
      EXPECT_NE(error.message().find(count == std::int64_t{1} << 60 ? "(4 EiB)" : "(7.9 EiB)"), std::string::npos)
          << error.message();
    }
  }
  EXPECT_THROW((void)full({std::int64_t{1} << 61}, 1.0, device, DType::F32).data(), MemoryError);
}

TEST(Memory, OfAnySizeIsSaidInAUnit) {
  EXPECT_EQ(text_of_bytes(0), "0 bytes");
  EXPECT_EQ(text_of_bytes(1023), "1023 bytes");
  EXPECT_EQ(text_of_bytes(1536), "1.5 KiB");
  EXPECT_EQ(text_of_bytes((std::int64_t{5} << 20) - 1), "4.9 MiB");
  EXPECT_EQ(text_of_bytes(std::int64_t{3} << 50), "3 PiB");
  EXPECT_EQ(text_of_bytes(1'000'000'000'000'000'000), "888 PiB");
  EXPECT_EQ(text_of_bytes(std::int64_t{1} << 62), "4 EiB");
  EXPECT_EQ(text_of_bytes(INT64_MAX), "7.9 EiB");
}

TEST_P(MemoryLimit, CanBeRaised) {
  const Value x = upload({1024, 1024}, device);
  const Limit limit(2 * kMiB);
  const auto sum_of_three = [&] {
    const Value y = exp(x), z = y + 1;
    (void)y.data();
    return z.data().at(0);
  };
  EXPECT_THROW((void)sum_of_three(), MemoryError);
  device.set_memory_limit(limit.before);
  EXPECT_EQ(sum_of_three(), 2);
}

/// Runs into the end of the host's memory.
struct Greedy : CustomOp {
  std::string name() const override { return "greedy"; }
  Descs infer(Inputs in) const override { return {Desc{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs in) const override { return {in[0] + 1}; }
  bool run(std::string_view, Call) const override { throw std::bad_alloc(); }
};

TEST_P(MemoryLimit, OfTheHostIsAnErrorOfMemoryToo) {
  const Value x = upload({4}, device);
  const auto op = make_ref<Greedy>();
  try {
    (void)custom(op, std::vector{x})[0].data();
    FAIL() << "nothing was said";
  } catch (const MemoryError& error) {
    EXPECT_EQ(error.message().rfind("greedy: cpu: the system gives no more memory: ", 0), 0u) << error.message();
  }
  EXPECT_EQ((x + 3).data().at(0), 3);
}

TEST(MemoryLimit, IsAtLeastAByte) {
  EXPECT_THROW(Device::cpu().set_memory_limit(0), ArgumentError);
  EXPECT_THROW(Device::cpu().set_memory_limit(-5), ArgumentError);
}

TEST(MemoryLimit, ComesFromTheEnvironment) {
  const auto at_start = [](const char* wish) {
    ::setenv("KILN_MEMORY_LIMIT", wish, 1);
    return cpu::memory_limit_at_start();
  };
  EXPECT_EQ(at_start("1500000000"), 1'500'000'000u);
  EXPECT_EQ(at_start("3K"), 3072u);
  EXPECT_EQ(at_start("512M"), std::size_t{512} << 20);
  EXPECT_EQ(at_start("2G"), std::size_t{2} << 30);
  for (const char* wrong : {"0", "-1", "2GB", "G", "much", "1.5G", "99999999999999999999", "99999999T", " 5"})
    EXPECT_THROW((void)at_start(wrong), ArgumentError) << wrong;
  ::unsetenv("KILN_MEMORY_LIMIT");
  EXPECT_GT(cpu::memory_limit_at_start(), std::size_t{1} << 28);
}

// What the machine has as /proc/meminfo says it, not sysconf.
TEST(MemoryLimit, LeavesAnEighthOfTheMachine) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  if (!(file >> word >> kibibytes) || word != "MemTotal:") GTEST_SKIP() << "there is no /proc/meminfo";
  ::unsetenv("KILN_MEMORY_LIMIT");
  EXPECT_LE(cpu::memory_limit_at_start(), kibibytes * 1024 / 8 * 7 + 8);
  EXPECT_EQ(cpu::default_memory_limit(8000, std::nullopt), 7000u);
  EXPECT_EQ(cpu::default_memory_limit(8000, 800), 700u);
  EXPECT_EQ(cpu::default_memory_limit(8000, 16000), 7000u);
  EXPECT_EQ(cpu::default_memory_limit(8000, 0), 1u);
  EXPECT_EQ(cpu::default_memory_limit(SIZE_MAX, std::nullopt), SIZE_MAX - SIZE_MAX / 8);
}

TEST(Memory, IsPoisonedWhereTheEnvironmentSaysSo) {
  const char* const before = std::getenv("KILN_POISON");
  const std::string kept = before ? before : "";
  const auto poisoned = [](const char* wish) {
    ::setenv("KILN_POISON", wish, 1);
    return cpu::memory_is_poisoned();
  };
  EXPECT_TRUE(poisoned("1"));
  EXPECT_FALSE(poisoned("0"));
  EXPECT_FALSE(poisoned(""));
  for (const char* wrong : {"2", "yes", "1 ", "-1"}) EXPECT_THROW((void)poisoned(wrong), ArgumentError) << wrong;
  ::setenv("KILN_POISON", kept.c_str(), 1);
}

}  // namespace
}  // namespace kiln
