// What the device "libtorch" is beside its results, which the op rows check: who computes, whose memory, how many threads,
// and what wrong calls are told.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "kiln/backend/libtorch/runs.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

Device libtorch_device() { return Device::parse("libtorch"); }

Value floats(const Shape& shape, const std::vector<float>& numbers) {
  return from_data(TensorData::of<float>(shape, std::span<const float>(numbers)), libtorch_device());
}

/// Ones. A call of full() with sizes in braces would make a Tensor where its header is read.
Value filled(const Shape& shape, DType dtype) { return full(shape, 1.0, libtorch_device(), dtype); }

/// How the named function ran during a call.
libtorch::Runs during(const std::string& name, const std::function<void()>& call) {
  const libtorch::Runs before = libtorch::runs()[name];
  call();
  const libtorch::Runs after = libtorch::runs()[name];
  return {after.aten - before.aten, after.expanded - before.expanded, after.reference - before.reference};
}

TEST(LibTorch, IsADeviceOfAProgramThatLinksIt) {
  const std::vector<std::string> names = device_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "libtorch"), names.end());
  EXPECT_EQ(kind_of_device("libtorch"), DeviceKind::Cpu);
  EXPECT_EQ(Device::best(), Device::cpu());  // it is used only by name
  EXPECT_EQ(sentence_of([] { return Device::parse("libtorch:1"); }).find("DeviceError: no device 'libtorch:1'"), 0u);
}

TEST(LibTorch, ComputesByATen) {
  const Value x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      during("matmul", [&] { EXPECT_EQ(matmul(x, x).data().to_vector<float>(), (std::vector<float>{7, 10, 15, 22})); })
          .aten,
      1);
  EXPECT_EQ(
      during("exp", [&] { EXPECT_FLOAT_EQ(static_cast<float>(exp(x).data().to_vector<float>()[0]), std::exp(1.F)); })
          .aten,
      1);
}

TEST(LibTorch, LeavesToKilnWhatATenLacks) {
  const libtorch::Runs random =
      during("random", [] { (void)uniform({4}, 0, 1, libtorch_device(), DType::F32, Key{7}); });
  EXPECT_EQ(random.reference, 1);
  EXPECT_EQ(random.aten, 0);
  const Value words = from_data(TensorData::of<std::uint32_t>({2}, {4000000000u, 7}), libtorch_device());
  const libtorch::Runs added = during("add", [&] {
    EXPECT_EQ((words + 1).data().to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{4000000001u, 8}));
  });
  EXPECT_EQ(added.reference, 1);
  EXPECT_EQ(during("softplus", [] { (void)softplus(floats({0}, {})); }).reference, 1);  // no elements
}

TEST(LibTorch, DrawsTheReferencesRandomNumbers) {
  const auto drawn = [](const Device& device) {
    return normal({33}, 0, 1, device, DType::F32, Key{3}).data().to_vector<float>();
  };
  EXPECT_EQ(drawn(libtorch_device()), drawn(Device::parse("reference")));
}

TEST(LibTorch, SaysWhatDoesNotRunByATen) {
  setenv("KILN_LOG", "libtorch", 1);
  testing::internal::CaptureStderr();
  (void)filled({3}, DType::F32).data();
  (void)dropout(filled({3}, DType::F32), 0.5, Key{1}).data();
  const std::string said = testing::internal::GetCapturedStderr();
  unsetenv("KILN_LOG");
  EXPECT_EQ(said, "kiln: libtorch: dropout runs by Kiln's reference kernel\n");
}

// ATen's memory is the pool's: of a sum of two tensors of 4 MB there is one result, and nothing is left afterwards.
TEST(LibTorch, CountsItsMemory) {
  const Device device = libtorch_device();
  const Value x = filled({1 << 20}, DType::F32);
  const std::int64_t before = device.memory().in_use;
  {
    const Value y = x + x;
    EXPECT_GE(device.memory().in_use - before, 4 << 20);
    EXPECT_LE(device.memory().in_use - before, 5 << 20);
  }
  EXPECT_EQ(device.memory().in_use, before);
}

TEST(LibTorch, IsToldWhereMemoryEnds) {
  const std::string said = sentence_of([] { return filled({1 << 20, 1 << 20}, DType::F64); });
  EXPECT_EQ(said.find("MemoryError: fill: "), 0u) << said;
  // A workspace of ATen: the product is small, the operands' copies are not.
  const Value x = expand(filled({1, 1}, DType::BF16), {1 << 20, 1 << 20});
  const std::string inner = sentence_of([&] { return sum(exp(x)); });
  EXPECT_EQ(inner.find("MemoryError: "), 0u) << inner;
  EXPECT_EQ(sum(floats({2}, {1, 2})).item(), 3);  // it goes on
}

TEST(LibTorch, UsesKilnsThreads) {
  const Value x = floats({2}, {1, 2});
  const int before = num_threads();
  {
    const Threads few(3);
    (void)exp(x);
    EXPECT_EQ(at::get_num_threads(), 3);
  }
  (void)exp(x);
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(LibTorch, DoesNotMixWithOtherDevices) {
  EXPECT_EQ(sentence_of([] { return floats({1}, {1}) + from_data(TensorData::of<float>({1}, {1}), Device::cpu()); }),
            "DeviceError: add: libtorch and cpu; move one with to_device()");
}

/// What a call is told on libtorch and on the reference device.
void expect_the_references_sentence(const std::function<void(const Device&)>& call) {
  const std::string said = sentence_of([&] { return call(Device::parse("reference")), 0; });
  EXPECT_NE(said.find("Error: "), std::string::npos) << said;
  EXPECT_EQ(sentence_of([&] { return call(libtorch_device()), 0; }), said);
}

TEST(LibTorch, SaysWhatIsWrongAsTheReferenceDoes) {
  const auto matrix = [](const Device& device, std::vector<double> numbers) {
    return from_data(TensorData::of<double>({2, 2}, std::span<const double>(numbers)), device);
  };
  const auto index = [](const Device& device, std::int64_t at) {
    return from_data(TensorData::of<std::int64_t>({1}, {at}), device);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_the_references_sentence([&](const Device& d) { (void)cholesky(matrix(d, {1, 2, 2, 1})).data(); });
  expect_the_references_sentence([&](const Device& d) { (void)inverse(matrix(d, {1, 2, 2, 4})).data(); });
  expect_the_references_sentence([&](const Device& d) { (void)eigvalsh(matrix(d, {1, nan, nan, 4})).data(); });
  expect_the_references_sentence(
      [&](const Device& d) { (void)select(matrix(d, {1, 2, 3, 4}), 0, index(d, 2)).data(); });
  expect_the_references_sentence(
      [&](const Device& d) { (void)select(matrix(d, {1, 2, 3, 4}), 0, index(d, -1)).data(); });
}

/// Integers have no trap: ATen's own quotients stop the process at these.
TEST(LibTorch, DividesIntegersAsTheTableSays) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Value x = from_data(TensorData::of<std::int64_t>({4}, {7, least, -7, 5}), libtorch_device());
  const Value y = from_data(TensorData::of<std::int64_t>({4}, {0, -1, 2, -3}), libtorch_device());
  EXPECT_EQ(floor_divide(x, y).data().to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, least, -4, -2}));
  EXPECT_EQ(remainder(x, y).data().to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 1, -1}));
  EXPECT_EQ(fmod(x, y).data().to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0, -1, 2}));
}

}  // namespace
}  // namespace kiln
